// The additive score with a term for the weights a that the previous query gave
// to the keys: w_v . tanh(W_q q + W_k k + W_f (F * a) + b). F is a set of
// convolution filters. Chorowski et al., "Attention-based models for speech
// recognition", 2015.
#include "attention/scoring/additive.h"
#include "attention/scoring/location_aware.pb.h"
#include "attention/scoring_kit.h"

namespace regard {

template <typename T>
class LocationAware : public Additive<T> {
 public:
  using Options = LocationAwareScore;

  static constexpr bool kPositionAware = true;
  static constexpr bool kUsesHistory = true;

  LocationAware(const Options& options, ParameterScope<T> scope,
                const ScoreWidths& widths)
      : Additive<T>(options, scope, widths), reach_(options.reach()) {
    const int64_t filters = options.filters();
    const int64_t seen = 2 * reach_ + 1;
    filters_ = scope.Add("filters", {widths.heads, filters, seen},
                         XavierUniform(filters, seen));
    w_f_ = scope.Add("w_f", {widths.heads, this->width(), filters},
                     XavierUniform(this->width(), filters));
  }

  Var<T> Score(Forward<T>& forward, const ScoreInputs<T>& in) const override {
    const Var<T> around = WindowsAroundKeys(in.previous_weights, reach_);
    const Var<T> found = ProjectHeads(around, forward[filters_]);
    return this->ScoreWith(forward, in, {found, forward[w_f_]});
  }

 private:
  int64_t reach_;
  Parameter<T> filters_, w_f_;
};

REGARD_SCORING_FUNCTION(LocationAware,
                        "w_v . tanh(W_q q + W_k k + W_f (F * a) + b)")

}  // namespace regard
