// Attention over any scoring function: position encoding, scores, normalizer,
// dropout on the weights, head mask and context.
#ifndef ATTENTION_ATTEND_H_
#define ATTENTION_ATTEND_H_

#include <memory>

#include "attention/attention.pb.h"
#include "attention/attention_registry.h"
#include "attention/kernels/distance_bias.h"
#include "attention/normalizer.h"
#include "attention/position_encoding.h"
#include "attention/scoring_function.h"
#include "nn/forward.h"
#include "nn/parameters.h"

namespace regard {

// What the mask hides from a query reaches neither its weights nor its context,
// even if it is NaN. NaN in a hidden value reaches no gradient, either. NaN in
// a hidden key reaches no gradient of the values, but may reach those of
// queries, keys and parameters: docs/decisions/0010-hidden-numbers.md.
template <typename T>
struct AttendInputs {
  // The keys are those of Prepare(). Of the mask's window and the config's,
  // the narrower one holds.
  ScoreInputs<T> score;
  Var<T> values;  // [batch, key heads, keys, value width]
  // [heads], multiplies the dropped-out weights; may be empty.
  Var<T> head_mask;
  // Whether Attended::weights is read; otherwise the weights may never exist.
  bool want_weights = true;
  // Whether the gradient of Attended::weights is read after backward: all of
  // it, also what flows through the context. Takes the path without fusion.
  bool want_weight_gradients = false;
};

template <typename T>
struct Attended {
  Var<T> context;  // [batch, heads, queries, value width]
  // [batch, heads, queries, keys], before dropout; empty if not wanted.
  Var<T> weights;
};

template <typename T>
class AttentionLayer {
 public:
  // `config` has passed AttentionRegistry::Validate(). Parameters are the
  // score's and, under "position_encoding", the position encoding's.
  AttentionLayer(const AttentionRegistry& registry, const Attention& config,
                 ParameterScope<T> scope, const ScoreWidths& widths);

  // Once per source: keys [batch, key heads, keys, key width], the first of
  // which is at key_position.
  Var<T> Prepare(Forward<T>& forward, Var<T> keys, int64_t key_position) const;

  Attended<T> Attend(Forward<T>& forward, const AttendInputs<T>& inputs) const;

  // The largest accepted |query position - key position|, or kUnlimited.
  int64_t LongestDistance() const;

  // Whether ScoreInputs must carry previous and cumulative weights.
  bool uses_history() const { return uses_history_; }

 private:
  DistanceBias<T> Bias(Forward<T>& forward, const Positions& positions,
                       int64_t queries, int64_t keys) const;
  Var<T> Normalize(Var<T> scores, const ScoreInputs<T>& inputs,
                   const DistanceBias<T>& bias) const;

  std::unique_ptr<ScoringFunction<T>> scorer_;
  std::unique_ptr<PositionEncoding<T>> position_encoding_;  // may be null
  std::unique_ptr<Normalizer<T>> normalizer_;
  bool uses_history_;
  // Copies of each key that Prepare() gives a score that knows no groups.
  int64_t key_copies_;
  int64_t window_;
  T dropout_;
};

}  // namespace regard

#endif  // ATTENTION_ATTEND_H_
