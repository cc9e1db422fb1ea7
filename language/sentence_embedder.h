// Vectors of texts from BERT's outputs over the tokens of each (Reimers and
// Gurevych, "Sentence-BERT", 2019).
#ifndef LANGUAGE_SENTENCE_EMBEDDER_H_
#define LANGUAGE_SENTENCE_EMBEDDER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "autodiff/worker_pool.h"
#include "data/text/wordpiece.h"
#include "language/bert.h"
#include "language/text_vectors.h"
#include "nn/parameters.h"

namespace regard {

// The inner product of vectors of norm 1, the cosine of their angle.
double Similarity(absl::Span<const float> a, absl::Span<const float> b);

// The numbers with spaces between, each as the shortest decimal that reads back
// as the same float.
std::string VectorText(absl::Span<const float> vector);

class SentenceEmbedder {
 public:
  // Texts are cut to `longest` ids, [CLS] and [SEP] included. All but the
  // numbers outlive this.
  SentenceEmbedder(const Bert<float>& bert,
                   const ParameterStore<float>& parameters,
                   const WordPiece& pieces, int64_t longest, int threads,
                   const VectorOptions& options = {});
  ~SentenceEmbedder();

  // Fills vectors [texts, width]. Texts of similar length are computed
  // together. Threads share out the batches of them or, where there are fewer
  // batches than threads, the products of each. Neither changes a bit of a
  // vector. A text without tokens has the vector of [CLS] [SEP].
  void Embed(absl::Span<const std::string> texts, absl::Span<float> vectors);

  // The same for texts as ids, each with 1 .. `longest` of them.
  void EmbedIds(absl::Span<const std::vector<int32_t>> ids,
                absl::Span<float> vectors);

  int64_t width() const { return bert_.width(); }

  // How many texts each batch of the last call had, by their lengths.
  std::vector<size_t> BatchSizes() const;

 private:
  class Worker;
  struct Text {
    const std::vector<int32_t>* ids;
    float* vector;
  };

  void MakeBatches(absl::Span<const std::vector<int32_t>> ids,
                   absl::Span<float> vectors);

  const Bert<float>& bert_;
  const WordPiece& pieces_;
  const int64_t longest_;
  WorkerPool pool_;
  std::vector<std::unique_ptr<Worker>> workers_;
  // The texts of the current call by their lengths, and batches of them.
  std::vector<Text> texts_;
  std::vector<absl::Span<const Text>> batches_;
};

}  // namespace regard

#endif  // LANGUAGE_SENTENCE_EMBEDDER_H_
