// Vectors of texts, made of the outputs of their tokens.
#ifndef LANGUAGE_TEXT_VECTORS_H_
#define LANGUAGE_TEXT_VECTORS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "autodiff/tape.h"
#include "language/text_embedder.pb.h"

namespace regard {

// The mean of the outputs divided by its norm, unless a model says otherwise.
struct VectorOptions {
  TextEmbedderConfig::Pooling pooling = TextEmbedderConfig::MEAN;
  bool normalize = true;
};

// One row for the first lengths[i] >= 1 rows of each x[i]; x [texts, time,
// width] -> [texts, width].
Var<float> PoolTokens(TextEmbedderConfig::Pooling pooling, Var<float> x,
                      absl::Span<const int32_t> lengths);

// Divides by the Euclidean norm, or by 1e-12 if that is more.
void NormalizeVector(absl::Span<const float> vector, absl::Span<float> out);

// Fills `out` with `pooled`, normalized if `options` says so.
void FinishVector(const VectorOptions& options, absl::Span<const float> pooled,
                  absl::Span<float> out);

}  // namespace regard

#endif  // LANGUAGE_TEXT_VECTORS_H_
