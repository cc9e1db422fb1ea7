// Inner products of queries and earlier keys, with factors that decay with the
// distance.
//
//   M[t, s] = sum_c q[t, c] k[s, c] exp(g[s + 1, c] + .. + g[t, c]),  s <= t.
//
// g <= 0 is the logarithm of the decay at each position, for each head or for
// each channel c of its keys. Products with later keys are 0.
//
// The exponent is summed separately for each pair of positions. It is never a
// difference of two long sums, and never above 0. Channel decays are applied in
// blocks of 16 rows: Yang et al., "Gated linear attention transformers with
// hardware-efficient training", 2024, section 4.3.
#ifndef ATTENTION_MIXERS_DECAYED_PRODUCTS_H_
#define ATTENTION_MIXERS_DECAYED_PRODUCTS_H_

#include <cstdint>

#include "autodiff/tape.h"

namespace regard {

// Returns M [batch, heads, time, time]. `queries` and `keys` are [batch, heads,
// time, key width]. `log_decay` is [batch, heads, time, 1 or key width], finite
// and at most 0. If `log_decay` is empty, there is no decay.
template <typename T>
Var<T> DecayedProducts(Var<T> queries, Var<T> keys, Var<T> log_decay);

// Successive positions of one head.
template <typename T>
struct DecayedProductOperands {
  int64_t count;
  int64_t width;
  int64_t decay_width;  // 0 means no decay; otherwise 1 or `width`
  const T* queries;     // [count, width]
  const T* keys;        // [count, width]
  const T* log_decay;   // [count, decay width]
};

// Returns the number of scratch elements that the functions below need.
template <typename T>
int64_t DecayedScratch(const DecayedProductOperands<T>& rows);

// Writes M [count, count] for `rows`.
template <typename T>
void ComputeProducts(const DecayedProductOperands<T>& rows, T* scratch,
                     T* products);

// Adds the gradients of queries and keys to `d_queries` and `d_keys`.
// `d_products` is the gradient of M and is overwritten. Its elements above the
// diagonal are ignored.
template <typename T>
void AddProductGradients(const DecayedProductOperands<T>& rows, T* scratch,
                         T* d_products, T* d_queries, T* d_keys);

// Converts gradients of the sums g[0] + .. + g[t] to gradients of g, in place:
// row t of `d_decay` becomes the sum of rows t, t + 1, ...
template <typename T>
void SumDecayGradients(int64_t count, int64_t decay_width, T* d_decay);

// Writes q * dq - k * dk, the gradients of the sums g[0] + .. + g[t], to
// `d_decay`. If decay_width is 1, sums the gradients over the channels.
template <typename T>
void DecayGradients(const DecayedProductOperands<T>& rows, const T* d_queries,
                    const T* d_keys, T* d_decay);

}  // namespace regard

#endif  // ATTENTION_MIXERS_DECAYED_PRODUCTS_H_
