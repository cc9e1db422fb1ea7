// The additive score that knows how much attention each key has had, c:
// w_v . tanh(W_q q + W_k k + w_c c + b).
// See, Liu and Manning, "Get to the point", 2017.
#include "attention/additive_layer.h"
#include "attention/scoring/coverage.pb.h"
#include "attention/scoring_kit.h"

namespace regard {

template <typename T>
class Coverage : public ScoringFunction<T> {
 public:
  using Options = CoverageScore;

  static constexpr bool kUsesHistory = true;

  Coverage(const Options& options, ParameterScope<T> scope,
           const ScoreWidths& widths)
      : layer_(options.width(), options.bias(), scope, widths) {
    w_c_ = scope.Add("w_c", {widths.heads, layer_.width(), 1},
                     XavierUniform(layer_.width(), 1));
  }

  static void Validate(const Options& options, const ScoreWidths&,
                       ConfigProblems& problems) {
    AdditiveLayer<T>::Validate(options, problems);
  }

  Var<T> Prepare(Forward<T>& forward, Var<T> keys,
                 int64_t /*key_position*/) const override {
    return layer_.Keys(forward, keys);
  }

  Var<T> Score(Forward<T>& forward, const ScoreInputs<T>& in) const override {
    return layer_.Scores(forward, in, {in.cumulative_weights, forward[w_c_]});
  }

 private:
  AdditiveLayer<T> layer_;
  Parameter<T> w_c_;
};

REGARD_SCORING_FUNCTION(Coverage, "w_v . tanh(W_q q + W_k k + w_c c + b)")

}  // namespace regard
