// Sentence embeddings from BERT's outputs, for many texts on several threads
// (Reimers and Gurevych, "Sentence-BERT", 2019).
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

// Returns the inner product, which is the cosine similarity of vectors of
// norm 1.
double Similarity(absl::Span<const float> a, absl::Span<const float> b);

// Returns the numbers joined by spaces, each as the shortest decimal that reads
// back as the same float.
std::string VectorText(absl::Span<const float> vector);

class SentenceEmbedder {
 public:
  // Texts are truncated to `longest` ids, [CLS] and [SEP] included. `bert`,
  // `parameters` and `pieces` must outlive this object.
  SentenceEmbedder(const Bert<float>& bert,
                   const ParameterStore<float>& parameters,
                   const WordPiece& pieces, int64_t longest, int threads,
                   const VectorOptions& options = {});
  ~SentenceEmbedder();

  // Fills `vectors` [texts, width]. A text without tokens gets the vector of
  // [CLS] [SEP].
  //
  // Texts of similar length are computed together. Threads share the batches
  // or, if there are fewer batches than threads, the matrix products of each
  // batch. The vectors are bit-identical for any number of threads.
  void Embed(absl::Span<const std::string> texts, absl::Span<float> vectors);

  // Like Embed(), for encoded texts of 1 to `longest` ids each.
  void EmbedIds(absl::Span<const std::vector<int32_t>> ids,
                absl::Span<float> vectors);

  int64_t width() const { return bert_.width(); }

  // Returns the number of texts in each batch of the last call. Batches are
  // ordered by the length of their texts.
  std::vector<size_t> LastBatchSizes() const;

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
  // The texts of the current call, ordered by length.
  std::vector<Text> texts_;
  // The batches of the current call, which refer to texts_.
  std::vector<absl::Span<const Text>> batches_;
};

}  // namespace regard

#endif  // LANGUAGE_SENTENCE_EMBEDDER_H_
