// What every model has that reads its texts by a BERT.
#ifndef LANGUAGE_BERT_MODEL_H_
#define LANGUAGE_BERT_MODEL_H_

#include <cstdint>

#include "data/text/wordpiece.h"
#include "language/bert.h"
#include "language/text_vectors.h"
#include "nn/parameters.h"
#include "optimization/model.h"

namespace regard {

class BertConfig;

class BertModel : public Model<float> {
 public:
  using Model::Model;

  ParameterStore<float>& parameters() override = 0;
  virtual const ParameterStore<float>& parameters() const = 0;
  virtual const Bert<float>& bert() const = 0;
  virtual const BertConfig& bert_config() const = 0;
  virtual const WordPiece& pieces() const = 0;
  // Ids that a text is cut to, [CLS] and [SEP] included.
  virtual int64_t longest() const = 0;
  // The vectors that it makes of texts.
  virtual VectorOptions vectors() const { return {}; }
};

}  // namespace regard

#endif  // LANGUAGE_BERT_MODEL_H_
