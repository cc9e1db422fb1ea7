// Norm of queries and keys, before the position encoding and the score.
//
//   RMS:    x / sqrt(mean(x^2) + epsilon) * w
//   layer:  (x - mean) / sqrt(variance + epsilon) * w
//   L2:     x / sqrt(sum(x^2) + d * epsilon) * w
//
// Here, x is the query or the key of a head, d is its width, and the gain w is
// learned. The norm bounds the scores, so that training does not diverge at
// large learning rates. With an epsilon of 1, RMS norm hardly changes queries
// and keys whose elements are far below 1. The layer is then plain attention.
//
// Sources:
//
//   L2      Henry et al., "Query-key normalization for Transformers", 2020
//   layer   Dehghani et al., "Scaling Vision Transformers to 22 billion
//           parameters", 2023
//   RMS     over all heads together: OLMo 2, 2025; in each head: Gemma 3, 2025
#ifndef ATTENTION_QUERY_KEY_NORM_H_
#define ATTENTION_QUERY_KEY_NORM_H_

#include <cstdint>
#include <optional>

#include "attention/multi_head.pb.h"
#include "autodiff/tape.h"
#include "nn/forward.h"
#include "nn/layers/norm.h"
#include "nn/parameters.h"

namespace regard {

// Parameters: "weight" [width], or [heads * width] if all heads are normalized
// together. None if the kind is NONE.
template <typename T>
class QueryOrKeyNorm {
 public:
  // `width` is the width of each head.
  QueryOrKeyNorm(const QueryKeyNormConfig& config,
                 const ParameterScope<T>& scope, int64_t heads, int64_t width);

  // x [batch, time, heads * width] -> the same shape.
  Var<T> operator()(Forward<T>& forward, Var<T> x) const;

 private:
  std::optional<NormLayer<T>> norm_;
  int64_t width_;  // number of elements normalized together
  T factor_;
};

}  // namespace regard

#endif  // ATTENTION_QUERY_KEY_NORM_H_
