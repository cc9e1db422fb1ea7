// Vectors of texts: the mean of BERT's outputs over the tokens of each, divided
// by its Euclidean norm (Reimers and Gurevych, "Sentence-BERT", 2019).
#ifndef LANGUAGE_SENTENCE_EMBEDDER_H_
#define LANGUAGE_SENTENCE_EMBEDDER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "language/bert.h"
#include "language/wordpiece.h"
#include "nn/parameters.h"
#include "nn/worker_pool.h"

namespace regard {

class SentenceEmbedder {
 public:
  // Texts are cut to `longest` ids, [CLS] and [SEP] included. All but the
  // numbers outlive this.
  SentenceEmbedder(const Bert<float>& bert,
                   const ParameterStore<float>& parameters,
                   const WordPiece& pieces, int64_t longest, int threads);
  ~SentenceEmbedder();

  // Fills vectors [texts, width]. Texts of similar length are computed together
  // on several threads; neither changes a bit of a vector. A text without
  // tokens has the vector of [CLS] [SEP].
  void Embed(absl::Span<const std::string> texts, absl::Span<float> vectors);

  int64_t width() const { return bert_.width(); }

 private:
  class Worker;
  struct Text;

  const Bert<float>& bert_;
  const WordPiece& pieces_;
  const int64_t longest_;
  WorkerPool pool_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace regard

#endif  // LANGUAGE_SENTENCE_EMBEDDER_H_
