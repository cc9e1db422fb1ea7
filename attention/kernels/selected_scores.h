// Scores of the keys that a selection chose. Other scores are -inf, so that
// every normalizer gives them weight 0.
#ifndef ATTENTION_KERNELS_SELECTED_SCORES_H_
#define ATTENTION_KERNELS_SELECTED_SCORES_H_

#include "absl/types/span.h"
#include "attention/kernels/distance_bias.h"
#include "attention/key_ranges.h"
#include "attention/mask.h"
#include "attention/positions.h"
#include "autodiff/tape.h"

namespace regard {

// Returns scores [batch, heads, queries, keys] plus `bias`. The result is -inf
// for keys that the mask hides or that mask.selected does not contain. The
// scores of these keys are not read and may be NaN. The scores may be a part,
// as in ScoringFunction::Score().
template <typename T>
Var<T> SelectedScores(Var<T> scores, const Mask& mask,
                      const Positions& positions,
                      const DistanceBias<T>& bias = {});

// The keys that a set of queries of one example reads.
struct JoinedKeyRuns {
  // Runs of key rows. Each run begins at a multiple of kGemmDepth, and ends at
  // such a multiple or at the last key. The keys between runs have weight 0 for
  // every query. The columns of all runs can therefore be joined without
  // changing any bit of a sum over keys.
  absl::Span<const KeyRange> keys;
  // The columns of the joined runs that each query sees.
  absl::Span<const KeyRange> columns;
};

// Returns the runs that contain each key that at least one of the `queries`
// queries reads in some head. A query reads the keys that the mask leaves
// visible and mask.selected contains. The mask must begin at key 0.
JoinedKeyRuns FindJoinedKeyRuns(Arena& arena, const Mask& mask,
                                const Positions& positions, int64_t queries);

}  // namespace regard

#endif  // ATTENTION_KERNELS_SELECTED_SCORES_H_
