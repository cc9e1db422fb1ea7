// The additive score with a coverage term,
// w_v . tanh(W_q q + W_k k + w_c c + b). The coverage c of a key is the sum
// of the weights that earlier queries gave to the key. See, Liu and Manning,
// "Get to the point", 2017.
#include "attention/scoring/additive.h"
#include "attention/scoring/coverage.pb.h"
#include "attention/scoring_kit.h"

namespace regard {

template <typename T>
class Coverage : public Additive<T> {
 public:
  using Options = CoverageScore;

  static constexpr bool kUsesHistory = true;

  Coverage(const Options& options, ParameterScope<T> scope,
           const ScoreWidths& widths)
      : Additive<T>(options, scope, widths),
        w_c_(scope.Add("w_c", {widths.heads, this->width(), 1},
                       XavierUniform(this->width(), 1))) {}

  Var<T> Score(Forward<T>& forward, const ScoreInputs<T>& in) const override {
    return this->ScoreWith(forward, in, {in.cumulative_weights, forward[w_c_]});
  }

 private:
  Parameter<T> w_c_;
};

REGARD_SCORING_FUNCTION(Coverage, "w_v . tanh(W_q q + W_k k + w_c c + b)")

}  // namespace regard
