// Terms of a score that depend on the distance between query and key.
//
//   score[b, h, l, r] = x . table[l - r + max_position - 1]
//
// where x is query l or key r. Shaw et al., "Self-attention with relative
// position representations", 2018, use the term of the query. Huang et al.,
// "Improve transformer models with better relative position embeddings", 2020,
// use both terms.
#ifndef ATTENTION_KERNELS_RELATIVE_SCORES_H_
#define ATTENTION_KERNELS_RELATIVE_SCORES_H_

#include <cstdint>

#include "attention/positions.h"
#include "autodiff/tape.h"

namespace regard {

struct RelativeScorePairs {
  int64_t queries;
  int64_t keys;
  Positions at = {};
  // The window of the mask: scores of pairs at this distance or more are not
  // read. 0 means no limit.
  int64_t window = 0;
};

// The terms of queries. table [2 * max_position - 1, width]; queries [batch,
// heads, queries, width] -> [batch, heads, queries, keys]. CHECK-fails on a
// distance of max_position or more. With a window of at most max_position, such
// distances are allowed and have score 0. Time is O(queries * keys * width).
template <typename T>
Var<T> RelativeQueryScores(Var<T> queries, Var<T> table,
                           const RelativeScorePairs& positions);

// The terms of keys [batch, heads, keys, width] -> [batch, heads, queries,
// keys]. The table, the checks and the time are as for RelativeQueryScores().
template <typename T>
Var<T> RelativeKeyScores(Var<T> keys, Var<T> table,
                         const RelativeScorePairs& positions);

}  // namespace regard

#endif  // ATTENTION_KERNELS_RELATIVE_SCORES_H_
