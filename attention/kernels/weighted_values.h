// The context of weights that exist: the sum of the values by their weights.
//
//   context[b, h, q] = sum_{visible k} weights[b, h, q, k] values[b, g, k]
#ifndef ATTENTION_KERNELS_WEIGHTED_VALUES_H_
#define ATTENTION_KERNELS_WEIGHTED_VALUES_H_

#include <cstdint>

#include "absl/types/span.h"
#include "attention/mask.h"
#include "attention/positions.h"
#include "autodiff/tape.h"

namespace regard {

// weights [batch, heads, queries, keys], 0 where the mask hides a key, values
// [batch, key heads, keys, value width] -> [batch, heads, queries, value
// width]. heads is a multiple of the key heads: successive heads share values.
// Values of weight 0 do not reach a context, not even if they are NaN; the
// gradients of hidden weights are 0.
template <typename T>
Var<T> WeightedValues(Var<T> weights, const Mask& mask, Var<T> values,
                      const Positions& positions = {});

// The mean of the first lengths[i] rows of each x[i], x [batch, time, width] ->
// [batch, width]; 0 if there is none.
template <typename T>
Var<T> MeanOfLengths(Var<T> x, absl::Span<const int32_t> lengths);

}  // namespace regard

#endif  // ATTENTION_KERNELS_WEIGHTED_VALUES_H_
