// Attention over any scoring function: scores, masked softmax, dropout on the
// weights, head mask and context. What a decoder, a Transformer head and a
// regression use.
#ifndef ATTENTION_ATTEND_H_
#define ATTENTION_ATTEND_H_

#include <memory>

#include "attention/attention.pb.h"
#include "attention/scorer_registry.h"
#include "attention/scoring_function.h"

namespace regard {

template <typename T>
struct AttendInputs {
  ScoreInputs<T> score;
  Var<T> values;  // [batch, heads, keys, value width]
  Var<T>
      head_mask;  // [heads], multiplies the dropped-out weights; may be empty
  // Whether somebody asks for the weights; otherwise they may never exist.
  bool want_weights = true;
};

template <typename T>
struct Attended {
  Var<T> context;  // [batch, heads, queries, value width]
  // [batch, heads, queries, keys], before dropout; empty unless asked for.
  Var<T> weights;
};

template <typename T>
class Attender {
 public:
  // `config` must have passed ScorerRegistry::Validate().
  Attender(const ScorerRegistry& registry, const Attention& config,
           ParameterScope<T> scope, const ScoreWidths& widths)
      : scorer_(registry.Create(config, scope, widths)),
        uses_history_(registry.Find(config)->uses_history),
        dropout_(static_cast<T>(config.dropout())) {}

  // Once per source: keys [batch, heads, keys, key width], the first of which
  // is at key_position.
  Var<T> Prepare(Forward<T>& forward, Var<T> keys, int64_t key_position) const {
    return scorer_->Prepare(forward, keys, key_position);
  }

  Attended<T> Attend(Forward<T>& forward, const AttendInputs<T>& inputs) const;

  // The largest |query position - key position| that is accepted; kAnyDistance
  // if there is no limit.
  int64_t LongestDistance() const { return scorer_->LongestDistance(); }

  // Whether ScoreInputs must carry previous and cumulative weights.
  bool uses_history() const { return uses_history_; }

 private:
  std::unique_ptr<ScoringFunction<T>> scorer_;
  bool uses_history_;
  T dropout_;
};

extern template class Attender<float>;
extern template class Attender<double>;

}  // namespace regard

#endif  // ATTENTION_ATTEND_H_
