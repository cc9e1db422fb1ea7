// The factor of a score that its options describe, fixed or learned.
#ifndef ATTENTION_SCORE_SCALE_H_
#define ATTENTION_SCORE_SCALE_H_

#include "absl/strings/string_view.h"
#include "attention/scoring_function.h"
#include "autodiff/tape.h"
#include "nn/forward.h"
#include "nn/initializers.h"
#include "nn/parameters.h"

namespace regard {

class ScoreScale;

// A learned factor is the parameter `name` [heads, width]; its width is the
// query's or 1. Without a value in the options, `initializer` draws the first,
// before it is divided.
template <typename T>
class ScoreScaleParameter {
 public:
  // No factor.
  ScoreScaleParameter() : fixed_(1) {}
  ScoreScaleParameter(const ScoreScale& options, ParameterScope<T> scope,
                      absl::string_view name, const ScoreWidths& widths,
                      const Initializer& initializer);

  // [heads, width], or [1] if it is fixed.
  Var<T> Values(Forward<T>& forward) const;
  // Rows [batch, heads, queries, width] times the factor if it is learned. The
  // score is the inner product of the result times constant().
  Var<T> TimesLearned(Forward<T>& forward, Var<T> rows) const;
  T constant() const { return is_learned() ? T(1) : fixed_; }
  bool is_learned() const { return learned_.has_value(); }

 private:
  T fixed_;
  Parameter<T> learned_;
};

}  // namespace regard

#endif  // ATTENTION_SCORE_SCALE_H_
