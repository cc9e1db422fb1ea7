// Scores of the keys that a selection left, and -inf elsewhere, so that any
// normalizer gives the others weight 0.
#ifndef ATTENTION_KERNELS_SELECTED_SCORES_H_
#define ATTENTION_KERNELS_SELECTED_SCORES_H_

#include "absl/types/span.h"
#include "attention/kernels/distance_bias.h"
#include "attention/key_ranges.h"
#include "attention/mask.h"
#include "attention/positions.h"
#include "autodiff/tape.h"

namespace regard {

// scores [batch, heads, queries, keys] plus `bias` where a query sees a key and
// mask.selected has it, and -inf elsewhere. Scores elsewhere are not read: they
// may be NaN. The scores may be a part, as in ScoringFunction::Score().
template <typename T>
Var<T> SelectedScores(Var<T> scores, const Mask& mask,
                      const Positions& positions,
                      const DistanceBias<T>& bias = {});

// The keys that are read for the queries of a part, which is one example.
struct KeyRuns {
  // Runs of key rows. Each begins at a multiple of kGemmDepth and ends at one
  // or at the last key, so that joining their columns changes no bit of a sum
  // over keys: what lies between is 0 for every query.
  absl::Span<const KeyRange> keys;
  // For each query, the columns of the joined runs that it sees.
  absl::Span<const KeyRange> columns;
};

// The runs of the longer call's keys that some head of some of `queries`
// queries sees and has in mask.selected. The mask begins at key 0.
KeyRuns RunsOf(Arena& arena, const Mask& mask, const Positions& positions,
               int64_t queries);

}  // namespace regard

#endif  // ATTENTION_KERNELS_SELECTED_SCORES_H_
