// The exponent of a Gaussian kernel between every query and every key, without
// an array of their differences:
//
//   score[b, h, q, k] = -|scale[h] (query[b, h, q] - key[b, h, k])|^2 / 2
//
// Scalars (width 1) are subtracted. Wider rows x (scaled query) and y (scaled
// key) go through a matrix product, |x|^2 + |y|^2 - 2 x.y, where that is
// accurate. With n = |x|^2 + |y|^2 its rounding error is at most about
// (width + 2) eps n, however small the distance; so it is used for a pair only
// if |x - y|^2 >= n / 8, where the relative error stays within eight times that
// of the direct sum. Other pairs are nearer to each other than to the origin,
// and their differences are squared and summed. The choice depends on the pair
// alone: neighbours, padding and batch change no bit of a score.
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
