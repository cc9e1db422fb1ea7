// Attention over any scoring function: position encoding, scores, normalizer,
// dropout on the weights and context.
//
// Sites of a probe, in the scope "attention": queries, keys, values, log_decays
// (with a forgetting gate), distance_bias (of a position encoding, [1, heads,
// 1, distances]), scores, weights (before dropout) and context. Statistics of
// the rows of weights come from either driver, in memory that is linear in the
// number of queries. Scores under a mask are any numbers. To multiply the
// context by a factor for each head is to multiply the dropped-out weights.
// Keys that a selection leaves out have score -inf and weight 0.
//
// Two drivers lead to the context: blocked inner form, and rows, in blocks or
// whole. docs/attention_drivers.md has the rule that chooses one.
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

// What the mask hides from a query reaches neither its weights nor its context,
// even if it is NaN. NaN in a hidden value reaches no gradient, either. NaN in
// a hidden key reaches no gradient of the values, but may reach those of
// queries, keys and parameters: docs/decisions/0010-hidden-numbers.md.
template <typename T>
struct AttendInputs {
  // The keys are those of Prepare(). Of the mask's window and the config's,
  // the narrower one holds.
  ScoreInputs<T> score;
  // [batch, value heads, keys, value width]. Successive heads share them.
  Var<T> values;
  // Whether only the context is wanted. Scores of all queries then need not
  // exist at once.
  bool fused_score = false;
};

template <typename T>
struct Attended {
  Var<T> context;  // [batch, heads, queries, value width]
  // [batch, heads, queries, keys], before dropout; empty if fused_score.
  Var<T> weights;
};

// Biases that a layer adds to scores, after their map: the position encoding's
// and the forgetting gate's.
template <typename T>
struct LayerBias {
  DistanceBias<T> distance;
  DifferenceBias<T> difference;
};

template <typename T>
class AttentionLayer {
 public:
  // As AttentionParts.
  AttentionLayer(const AttentionRegistry& registry, const Attention& config,
                 ParameterScope<T> scope, const ScoreWidths& widths);

  // ScoringFunction::Prepare(), of keys without a position encoding.
  Var<T> Prepare(Forward<T>& forward, PrepareInputs<T> inputs) const;

  // `forward` lives until the end of the tape's step, as do the mask's spans.
  Attended<T> Attend(Forward<T>& forward, const AttendInputs<T>& inputs) const;

  // Whether ContextSideBySide() may take the place of Prepare() and Attend().
  bool ReadsHeadsSideBySide() const;
  // Whether a probe wants something of a site of this attention, besides
  // statistics of rows.
  bool IsWatched(Forward<T>& forward) const;
  // The context of Attend() from a kernel that reads the heads where
  // projections leave them: queries [batch, queries, heads * width], keys and
  // values [batch, keys, key heads * width] -> [batch, queries, heads * value
  // width]. A probe sees nothing of it but statistics of rows.
  Var<T> ContextSideBySide(Forward<T>& forward, ScoreInputs<T> inputs,
                           Var<T> values, int64_t heads) const;

  // The largest accepted |query position - key position|, or kUnlimited. A
  // window that hides what is beyond the score's limit lifts that limit.
  int64_t LongestDistance() const;

  // Whether ScoreInputs carry previous and cumulative weights. Without them,
  // each query is the first, and both are zero.
  bool uses_history() const { return parts_.uses_history; }

 private:
  // With the narrower one of its window and the config's.
  Mask Narrowed(Mask mask) const;
  // Biases for this many queries and keys, from x and the state of `inputs`.
  LayerBias<T> Bias(Forward<T>& forward, const ScoreInputs<T>& inputs,
                    int64_t queries, int64_t keys) const;
  // With a selection, they are -inf where it left out the key. Only then
  // `bias` may be given, which is added.
  Var<T> Scores(Forward<T>& forward, ScoreInputs<T> inputs,
                const LayerBias<T>& bias = {}) const;
  // Weights of scores, before map_after.
  Var<T> Weights(Forward<T>& forward, Var<T> scores, const Mask& mask,
                 const Positions& positions, const DistanceBias<T>& bias) const;
  Var<T> Normalize(Forward<T>& forward, Var<T> scores,
                   const ScoreInputs<T>& inputs,
                   const LayerBias<T>& bias) const;
  // [heads]; empty without a sink.
  Var<T> SinkLogits(Forward<T>& forward) const;
  // Whether the config lets a score of inner form be computed in blocks.
  bool MayBeBlocked() const;
  // Whether a probe replaces scores or weights, or wants their gradients.
  bool WeightsAreChanged(Forward<T>& forward) const;
  // The context of a score of inner form, in blocks of queries and keys;
  // nullopt if the rule says otherwise.
  std::optional<Var<T>> BlockedContext(Forward<T>& forward,
                                       const ScoreInputs<T>& inputs,
                                       Var<T> values, const LayerBias<T>& bias,
                                       const RowStatistics& rows) const;
  // From queries and keys that are encoded to context and weights, of a whole
  // call or a part of one. A part fills in its `rows`.
  Attended<T> AttendRows(Forward<T>& forward, const ScoreInputs<T>& inputs,
                         Var<T> values, const LayerBias<T>& bias,
                         const RowReader& rows = {}) const;
  // The context of AttendRows(), by blocks of `rows` queries.
  Var<T> AttendInBlocks(Forward<T>& forward, const ScoreInputs<T>& inputs,
                        Var<T> values, const LayerBias<T>& bias, int64_t block,
                        const RowStatistics& rows) const;
  // The context of a part with a selection: one example and some of its
  // queries, with all of that call's keys and values. Only runs of keys that
  // some query has selected are read.
  Var<T> AttendRuns(Forward<T>& forward, const ScoreInputs<T>& part,
                    Var<T> values, const LayerBias<T>& bias, int64_t example,
                    const RowReader& rows) const;
  // Whether rows read runs of the keys: no map has to see all keys of a row.
  bool ReadsRuns() const;
  // The rows of a block; 0: the call is computed whole.
  int64_t RowsPerBlock(Forward<T>& forward, const ScoreInputs<T>& inputs,
                       Var<T> values) const;

  AttentionParts<T> parts_;
  int64_t window_;
  int64_t block_;
  T dropout_;
};

}  // namespace regard

#endif  // ATTENTION_ATTEND_H_
