// Sentence embeddings computed from the outputs of a text's tokens: pooling and
// normalization.
#ifndef LANGUAGE_TEXT_VECTORS_H_
#define LANGUAGE_TEXT_VECTORS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "autodiff/tape.h"
#include "language/text_embedder.pb.h"

namespace regard {

// The default is the mean of the outputs divided by its norm.
struct VectorOptions {
  TextEmbedderConfig::Pooling pooling = TextEmbedderConfig::MEAN;
  bool normalize = true;
};

// Pools the first lengths[i] rows of each x[i], at least one. Maps [texts,
// time, width] to [texts, width].
Var<float> PoolTokens(TextEmbedderConfig::Pooling pooling, Var<float> x,
                      absl::Span<const int32_t> lengths);

// Divides a vector by its Euclidean norm, or by 1e-12 if the norm is smaller.
void NormalizeVector(absl::Span<const float> vector, absl::Span<float> out);

// Fills `out` with `pooled`, normalized if `options` requires it.
void FinishVector(const VectorOptions& options, absl::Span<const float> pooled,
                  absl::Span<float> out);

}  // namespace regard

#endif  // LANGUAGE_TEXT_VECTORS_H_
