// The additive score of every query and every key, in one pass.
//
//   score[b, h, q, k] =
//       sum_j vector[h, j] tanh(query[b, h, q, j] + key[b, h, k, j])
//
// Bahdanau et al., "Neural machine translation by jointly learning to align and
// translate", 2015. The caller must project the queries and keys first.
#ifndef ATTENTION_KERNELS_ADDITIVE_SCORES_H_
#define ATTENTION_KERNELS_ADDITIVE_SCORES_H_

#include "attention/mask.h"
#include "attention/positions.h"
#include "autodiff/tape.h"

namespace regard {

// A term sum_n weight[h, j, n] features[b, h, q, k, n] to add within the tanh.
// The kernel computes the term for the keys of one query at a time, so that no
// array of all pairs is needed.
template <typename T>
struct AdditivePairTerm {
  Var<T> features;  // [batch, heads, queries, keys, n], or reshaped
  Var<T> weight;    // [heads, width, n]
};

// queries [batch, heads, queries, width], keys [batch, heads, keys, width],
// vector [heads, width] -> [batch, heads, queries, keys]. Keys that are masked
// by length, causality or window are not compared, and their score is 0.
template <typename T>
Var<T> AdditiveScores(Var<T> queries, Var<T> keys, Var<T> vector,
                      const Mask& mask, const Positions& positions = {},
                      const AdditivePairTerm<T>& term = {});

}  // namespace regard

#endif  // ATTENTION_KERNELS_ADDITIVE_SCORES_H_
