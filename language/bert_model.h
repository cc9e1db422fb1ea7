// The interface of models that read their texts with BERT.
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

class BertBasedModel : public Model<float> {
 public:
  using Model::Model;

  ParameterStore<float>& parameters() override = 0;
  virtual const ParameterStore<float>& parameters() const = 0;
  virtual const Bert<float>& bert() const = 0;
  virtual const BertConfig& bert_config() const = 0;
  virtual const WordPiece& pieces() const = 0;
  // The maximum number of ids of a text, [CLS] and [SEP] included. Longer texts
  // are truncated.
  virtual int64_t longest() const = 0;
  // The options of the sentence embeddings that the model computes.
  virtual VectorOptions vectors() const { return {}; }
};

}  // namespace regard

#endif  // LANGUAGE_BERT_MODEL_H_
