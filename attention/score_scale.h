// The factor of a score. The options of the score determine whether the factor
// is fixed or learned.
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

// The parameter of a learned factor is `name` [heads, width], where the width
// is the query's width or 1. If the options have no value, `initializer` draws
// the initial value, which is then divided by the divisor.
template <typename T>
class FixedOrLearnedScale {
 public:
  // Constructs a fixed factor of 1.
  FixedOrLearnedScale() : fixed_(1) {}
  FixedOrLearnedScale(const ScoreScale& options, ParameterScope<T> scope,
                      absl::string_view name, const ScoreWidths& widths,
                      const Initializer& initializer);

  // The factor, [heads, width] if it is learned, otherwise [1].
  Var<T> Values(Forward<T>& forward) const;
  // Multiplies rows [batch, heads, queries, width] by the factor if it is
  // learned. The score is constant() times an inner product of the result.
  Var<T> MultiplyByLearnedScale(Forward<T>& forward, Var<T> rows) const;
  T constant() const { return is_learned() ? T(1) : fixed_; }
  bool is_learned() const { return learned_.has_value(); }

 private:
  T fixed_;
  Parameter<T> learned_;
};

}  // namespace regard

#endif  // ATTENTION_SCORE_SCALE_H_
