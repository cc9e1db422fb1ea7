// The blocked kernel: attention with any score that is an InnerForm, without a
// matrix of queries by keys in memory.
//
//   context[q] = sum over visible k of
//                dropout(softmax_k(factor a[q] . b[k] + biases)) value[k]
//
// The forward pass reads blocks of keys and keeps a running maximum and sum for
// each query (Milakov and Gimelshein, "Online normalizer calculation for
// softmax", 2018). The backward pass computes each block of weights again from
// the maximum and the sum (Dao et al., "FlashAttention", 2022).
#ifndef ATTENTION_KERNELS_SCALED_DOT_ATTENTION_H_
#define ATTENTION_KERNELS_SCALED_DOT_ATTENTION_H_

#include <cstdint>
#include <type_traits>

#include "attention/kernels/inner_form.h"
#include "attention/mask.h"
#include "attention/positions.h"
#include "autodiff/tape.h"
#include "nn/row_statistics.h"

namespace regard {

// Values [batch, value heads, keys, value width] -> [batch, heads, queries,
// value width]. The number of value heads divides `heads`: successive heads
// share values. A query without a visible key has context and gradients 0.
// Masked keys and values do not affect the context or a gradient, even if they
// are NaN. While the tape trains, weights are dropped with probability
// `dropout`. The dropped weights are the same as with Dropout(weights, dropout,
// "weights").
//
// heads_side_by_side is 0 or the number of query heads. If it is not 0, all
// arrays have their heads side by side, as projections write them:
// * `a` [batch, queries, heads * width];
// * `b` [batch, keys, key heads * width];
// * values [batch, keys, value heads * value width];
// * context [batch, queries, heads * value width].
// Both layouts give bit-identical results.
//
// `sink` [heads] is the logit of each head's sink (attention/sink.h): exp(sink)
// is added to the sum of the softmax. May be empty.
//
// Writes row statistics to the arrays of `statistics`, which must have one row
// for each row of the context. The statistics do not change any bit of the
// context.
template <typename T>
Var<T> ScaledDotAttention(const std::type_identity_t<InnerForm<T>>& score,
                          Var<T> values, const Mask& mask,
                          const Positions& positions = {},
                          std::type_identity_t<T> dropout = T(0),
                          int64_t heads_side_by_side = 0, Var<T> sink = {},
                          const AttentionStatistics& statistics = {});

}  // namespace regard

#endif  // ATTENTION_KERNELS_SCALED_DOT_ATTENTION_H_
