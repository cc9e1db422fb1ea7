// The context for known weights: the weighted sum of the values.
//
//   context[b, h, q] = sum_{visible k} weights[b, h, q, k] values[b, g, k]
//
// where g is the value head of head h.
#ifndef ATTENTION_KERNELS_WEIGHTED_VALUES_H_
#define ATTENTION_KERNELS_WEIGHTED_VALUES_H_

#include <cstdint>

#include "absl/types/span.h"
#include "attention/mask.h"
#include "attention/positions.h"
#include "autodiff/tape.h"

namespace regard {

// weights [batch, heads, queries, keys], which must be 0 for masked keys,
// values [batch, value heads, keys, value width] -> [batch, heads, queries,
// value width]. The number of value heads divides `heads`: successive heads
// share values. Values of weight 0 do not affect a context, even if they are
// NaN. The gradients of masked weights are 0.
template <typename T>
Var<T> WeightedValues(Var<T> weights, const Mask& mask, Var<T> values,
                      const Positions& positions = {});

// The mean of the first lengths[i] rows of each x[i]. x [batch, time, width] ->
// [batch, width]. 0 if lengths[i] is 0.
template <typename T>
Var<T> MeanOfFirstRows(Var<T> x, absl::Span<const int32_t> lengths);

}  // namespace regard

#endif  // ATTENTION_KERNELS_WEIGHTED_VALUES_H_
