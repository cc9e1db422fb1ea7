// Attention with any scoring function: encodes positions, computes scores,
// normalizes them to weights, applies dropout to the weights, and returns the
// context.
//
// Hook points, in the scope "attention":
//
//   queries, keys, values
//   log_decays      if there is a forget gate
//   distance_bias   of the position encoding, [1, heads, 1, distances]
//   scores          undefined where the mask hides a key
//   weights         before dropout
//   context
//
// To mask or scale a head, a hook can multiply the head's context by a factor.
// This has the same effect as multiplying the head's weights after dropout.
// Keys that the selection leaves out have score -inf and weight 0. Row
// statistics of the weights use memory that is linear in the number of queries.
//
// The layer computes the context row by row, or with the blocked kernel if the
// score is an InnerForm. docs/attention_drivers.md lists all conditions for the
// blocked kernel.
#ifndef ATTENTION_ATTEND_H_
#define ATTENTION_ATTEND_H_

#include <optional>

#include "attention/attention_parts.h"
#include "attention/attention_registry.h"
#include "attention/call_parts.h"
#include "attention/kernels/difference_bias.h"
#include "attention/kernels/distance_bias.h"
#include "attention/scoring_function.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "nn/row_statistics.h"

namespace regard {

class Attention;

// Masked keys and values do not affect the weights or the context of a query,
// even if they are NaN. A NaN in a masked value does not affect any gradient. A
// NaN in a masked key may affect the gradients of queries, keys and parameters,
// but not of the values (docs/decisions/0010-hidden-numbers.md).
template <typename T>
struct AttendInputs {
  // `score.keys` come from Prepare(). If both the mask and the config have a
  // window, the narrower one applies.
  ScoreInputs<T> score;
  // [batch, value heads, keys, value width]. Successive heads share a value
  // head if there are fewer value heads than query heads.
  Var<T> values;
  // Whether only the context is needed. The layer may then compute the context
  // without an array of all scores.
  bool context_only = false;
};

template <typename T>
struct AttentionResult {
  Var<T> context;  // [batch, heads, queries, value width]
  // [batch, heads, queries, keys], before dropout. Empty if context_only.
  Var<T> weights;
};

// Biases that a layer adds to scores after map_before: the bias of the position
// encoding, and the bias of the forget gate.
template <typename T>
struct ScoreBiases {
  DistanceBias<T> distance;
  DifferenceBias<T> difference;
};

template <typename T>
class AttentionLayer {
 public:
  // Takes the same arguments as AttentionParts().
  AttentionLayer(const AttentionRegistry& registry, const Attention& config,
                 ParameterScope<T> scope, const ScoreWidths& widths);

  // Encodes the positions of the keys, then calls ScoringFunction::Prepare().
  Var<T> Prepare(Forward<T>& forward, PrepareInputs<T> inputs) const;

  // `forward` and the spans of the mask must live until the tape's step ends.
  AttentionResult<T> Attend(Forward<T>& forward,
                            const AttendInputs<T>& inputs) const;

  // Whether ContextSideBySide() can replace Prepare() and Attend().
  bool ReadsHeadsSideBySide() const;
  // Whether a hook reads or changes more than row statistics at a hook point of
  // this layer.
  bool HasHookBeyondRowStatistics(Forward<T>& forward) const;
  // Returns the context of Attend(), computed by a kernel that reads the heads
  // side by side, as projections write them. queries [batch, queries, heads *
  // width], keys and values [batch, keys, key heads * width] -> [batch,
  // queries, heads * value width]. Hooks receive only `log_decays` and row
  // statistics.
  Var<T> ContextSideBySide(Forward<T>& forward, ScoreInputs<T> inputs,
                           Var<T> values, int64_t heads) const;

  // The largest |query position - key position| that the layer accepts, or
  // kUnlimited. If the window masks all keys beyond the score's limit, the
  // result ignores the score's limit.
  int64_t MaxDistance() const;

  // Whether the score reads ScoreInputs::previous_weights and
  // cumulative_weights. Empty arrays count as zero, as for the first query.
  bool uses_history() const { return parts_.uses_history; }

 private:
  // The mask with the narrower of its window and the config's window.
  Mask NarrowWindow(Mask mask) const;
  // Returns the biases for `queries` queries and `keys` keys. Reads x and the
  // state in `inputs`.
  ScoreBiases<T> Bias(Forward<T>& forward, const ScoreInputs<T>& inputs,
                      int64_t queries, int64_t keys) const;
  // Scores after map_before, plus `bias`. If there is no selection, `bias` must
  // be empty. Scores of keys that the selection leaves out are -inf.
  Var<T> Scores(Forward<T>& forward, ScoreInputs<T> inputs,
                const ScoreBiases<T>& bias = {}) const;
  // The weights of the scores, before map_after.
  Var<T> Weights(Forward<T>& forward, Var<T> scores, const Mask& mask,
                 const Positions& positions, const DistanceBias<T>& bias) const;
  Var<T> Normalize(Forward<T>& forward, Var<T> scores,
                   const ScoreInputs<T>& inputs,
                   const ScoreBiases<T>& bias) const;
  // [heads]; empty without a sink.
  Var<T> SinkLogits(Forward<T>& forward) const;
  // Whether normalizer, maps and score allow the blocked kernel.
  bool SupportsBlockedKernel() const;
  // Whether a hook replaces scores or weights, or needs their gradients.
  bool HookNeedsStoredWeights(Forward<T>& forward) const;
  // The context from the blocked kernel. `nullopt` if the layer cannot use the
  // kernel.
  std::optional<Var<T>> BlockedContext(Forward<T>& forward,
                                       const ScoreInputs<T>& inputs,
                                       Var<T> values,
                                       const ScoreBiases<T>& bias,
                                       const AttentionStatistics& rows) const;
  // Computes the context and the weights of a whole call or of a part, from
  // encoded queries and keys. For a part, also writes statistics to `rows`.
  AttentionResult<T> AttendRows(Forward<T>& forward,
                                const ScoreInputs<T>& inputs, Var<T> values,
                                const ScoreBiases<T>& bias,
                                const RowStatisticsWriter& rows = {}) const;
  // The context of AttendRows(), computed in blocks of `block` queries.
  Var<T> AttendInBlocks(Forward<T>& forward, const ScoreInputs<T>& inputs,
                        Var<T> values, const ScoreBiases<T>& bias,
                        int64_t block, const AttentionStatistics& rows) const;
  // Computes the context of a part with a selection, from the runs of keys that
  // some query of the part has selected. A part is one example and some of its
  // queries, with all keys and values of the call.
  Var<T> AttendToKeyRuns(Forward<T>& forward, const ScoreInputs<T>& part,
                         Var<T> values, const ScoreBiases<T>& bias,
                         int64_t example,
                         const RowStatisticsWriter& rows) const;
  // Whether AttendToKeyRuns() can be used. False if a score map needs all keys
  // of a row.
  bool CanAttendToKeyRuns() const;
  // The number of queries per block, or 0 to compute all queries at once.
  int64_t RowsPerBlock(Forward<T>& forward, const ScoreInputs<T>& inputs,
                       Var<T> values) const;

  AttentionParts<T> parts_;
  int64_t window_;
  int64_t block_;
  T dropout_;
};

}  // namespace regard

#endif  // ATTENTION_ATTEND_H_
