// The exponent of a Gaussian kernel between every query and every key that are
// numbers, as in regression, in one pass:
//
//   score[b, h, q, k] = -(scale[h] (query[b, h, q] - key[b, h, k]))^2 / 2
#ifndef ATTENTION_GAUSSIAN_SCORES_H_
#define ATTENTION_GAUSSIAN_SCORES_H_

#include "autodiff/tape.h"

namespace regard {

// queries [batch, heads, queries, 1], keys [batch, heads, keys, 1], scale of
// one number per head or of one for all -> [batch, heads, queries, keys].
template <typename T>
Var<T> GaussianScores(Var<T> queries, Var<T> keys, Var<T> scale);

}  // namespace regard

#endif  // ATTENTION_GAUSSIAN_SCORES_H_
