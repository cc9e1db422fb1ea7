// The exponent of a Gaussian kernel between every query and every key, without
// an array of their differences.
//
//   score[b, h, q, k] = -|scale[h] (query[b, h, q] - key[b, h, k])|^2 / 2
//
// Scalars (rows of width 1) are subtracted. For wider rows, let x be a scaled
// query and y a scaled key. A matrix product computes
//
//   |x - y|^2 = n - 2 x.y   with   n = |x|^2 + |y|^2.
//
// Its rounding error is at most about (width + 2) eps n, however small the
// distance is. The product is used only for pairs with |x - y|^2 >= n / 8. The
// relative error is then at most eight times the error of a direct sum. For all
// other pairs, the squared differences are summed. The choice depends only on
// the pair, so batch, padding and other rows do not change any bit of a score.
#ifndef ATTENTION_KERNELS_GAUSSIAN_SCORES_H_
#define ATTENTION_KERNELS_GAUSSIAN_SCORES_H_

#include "autodiff/tape.h"

namespace regard {

// queries [batch, heads, queries, width], keys [batch, heads, keys, width],
// scale [1], [heads, 1] or [heads, width] -> [batch, heads, queries, keys].
template <typename T>
Var<T> GaussianScores(Var<T> queries, Var<T> keys, Var<T> scale);

}  // namespace regard

#endif  // ATTENTION_KERNELS_GAUSSIAN_SCORES_H_
