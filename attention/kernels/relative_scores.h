// Terms of a score that depend on how far apart query and key are:
//
//   score[b, h, l, r] = x . table[l - r + max_position - 1]
//
// where x is query l or key r. Shaw et al., "Self-attention with relative
// position representations", 2018 (of the query); Huang et al., "Improve
// transformer models with better relative position embeddings", 2020 (of both).
#ifndef ATTENTION_KERNELS_RELATIVE_SCORES_H_
#define ATTENTION_KERNELS_RELATIVE_SCORES_H_

#include <cstdint>

#include "attention/positions.h"
#include "autodiff/tape.h"

namespace regard {

struct RelativePositions {
  int64_t queries;
  int64_t keys;
  Positions at = {};
  // That of a mask: scores of pairs at this distance or more are not read. 0:
  // all are.
  int64_t window = 0;
};

// table [2 max_position - 1, width]; queries [batch, heads, queries, width] ->
// [batch, heads, queries, keys]. A distance of max_position or more fails a
// check; beyond a window of at most max_position it has the score 0.
template <typename T>
Var<T> RelativeQueryScores(Var<T> queries, Var<T> table,
                           const RelativePositions& positions);

// Of keys [batch, heads, keys, width]. Both cost O(queries * keys * width).
template <typename T>
Var<T> RelativeKeyScores(Var<T> keys, Var<T> table,
                         const RelativePositions& positions);

}  // namespace regard

#endif  // ATTENTION_KERNELS_RELATIVE_SCORES_H_
