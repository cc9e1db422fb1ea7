// The exponent of a Gaussian kernel between every query and every key, without
// an array of their differences.
//
//   score[b, h, q, k] = -|scale[h] (query[b, h, q] - key[b, h, k])|^2 / 2
//
// Scalars (width 1) are subtracted. Let x be a scaled query and y a scaled key.
// For wider rows, a matrix product computes |x - y|^2 = |x|^2 + |y|^2 - 2 x.y
// if that is accurate. With n = |x|^2 + |y|^2, its rounding error is at most
// about (width + 2) eps n, however small the distance. The product is therefore
// used for a pair only if |x - y|^2 >= n / 8. Its relative error is then at
// most eight times the error of the direct sum. For other pairs, differences
// are squared and summed. The choice only depends on the pair, so batch,
// padding and other rows do not change any bit of a score.
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
