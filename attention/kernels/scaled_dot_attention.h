// Attention by any score of inner form, from one kernel, without a matrix of
// queries by keys in memory:
//
//   context[q] = sum over visible k of
//                dropout(softmax_k(factor a[q] . b[k] + biases)) value[k]
//
// Forward goes over blocks of keys with a running maximum and sum per query
// (Milakov & Gimelshein, "Online normalizer calculation for softmax", 2018);
// backward computes each block of weights again from the maximum and sum (Dao
// et al., "FlashAttention", 2022).
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
// value width]. heads is a multiple of the value heads: successive heads share
// values. A query that sees nothing has context and gradients 0. Hidden keys
// and values reach no context and no gradient, not even if they are NaN. A
// weight is dropped with probability `dropout` while the tape trains, by the
// mask of Dropout() at the site "weights".
//
// heads_side_by_side is not 0: a [batch, queries, heads * width], b [batch,
// keys, key heads * width], values and context have their heads side by side,
// as projections leave them, and that many are the queries'. The bits are the
// same.
//
// `sink` [heads], which may be empty, has the logit of each head's sink, see
// attention/sink.h: exp(sink) is added to the sum of the softmax.
//
// `statistics`, of as many rows as the context has, is filled. It changes no
// bit of the context.
template <typename T>
Var<T> ScaledDotAttention(const std::type_identity_t<InnerForm<T>>& score,
                          Var<T> values, const Mask& mask,
                          const Positions& positions = {},
                          std::type_identity_t<T> dropout = T(0),
                          int64_t heads_side_by_side = 0, Var<T> sink = {},
                          const RowStatistics& statistics = {});

}  // namespace regard

#endif  // ATTENTION_KERNELS_SCALED_DOT_ATTENTION_H_
