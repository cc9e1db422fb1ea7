// Attention by scaled inner products from one kernel, without a matrix of
// queries by keys in memory:
//
//   context[q] = sum over visible k of
//                dropout(softmax_k(scale query[q] . key[k] + bias)) value[k]
//
// Forward goes over blocks of keys with a running maximum and sum per query
// (Milakov & Gimelshein, "Online normalizer calculation for softmax", 2018);
// backward computes each block of weights again from the maximum and sum (Dao
// et al., "FlashAttention", 2022).
#ifndef ATTENTION_KERNELS_SCALED_DOT_ATTENTION_H_
#define ATTENTION_KERNELS_SCALED_DOT_ATTENTION_H_

#include <type_traits>

#include "attention/kernels/context_options.h"
#include "attention/mask.h"
#include "attention/positions.h"
#include "autodiff/tape.h"

namespace regard {

// queries [batch, heads, queries, width], keys [batch, key heads, keys, width],
// values [batch, key heads, keys, value width] -> [batch, heads, queries, value
// width]. heads is a multiple of the key heads: successive heads share keys. A
// query that sees nothing has context and gradients 0. Hidden keys and values
// reach no context and no gradient, not even if they are NaN. The bits are the
// same if heads are side by side, as projections leave them.
template <typename T>
Var<T> ScaledDotAttention(
    Var<T> queries, Var<T> keys, Var<T> values, const Mask& mask,
    std::type_identity_t<T> scale, const Positions& positions = {},
    const std::type_identity_t<ContextOptions<T>>& options = {});

}  // namespace regard

#endif  // ATTENTION_KERNELS_SCALED_DOT_ATTENTION_H_
