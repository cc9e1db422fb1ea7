// The additive score, w_v . tanh(W_q q + W_k k), with or without a bias.
// Bahdanau et al., "Neural machine translation by jointly learning to align and
// translate", 2015.
#include "attention/additive_layer.h"
#include "attention/scoring/additive.pb.h"
#include "attention/scoring_kit.h"

namespace regard {

template <typename T>
class Additive : public ScoringFunction<T> {
 public:
  using Options = AdditiveScore;

  Additive(const Options& options, ParameterScope<T> scope,
           const ScoreWidths& widths)
      : layer_(options.width(), options.bias(), scope, widths) {}

  static void Validate(const Options& options, const ScoreWidths&,
                       ConfigProblems& problems) {
    AdditiveLayer<T>::Validate(options, problems);
  }

  Var<T> Prepare(Forward<T>& forward, Var<T> keys,
                 int64_t /*key_position*/) const override {
    return layer_.Keys(forward, keys);
  }

  Var<T> Score(Forward<T>& forward, const ScoreInputs<T>& in) const override {
    return layer_.Scores(forward, in);
  }

 private:
  AdditiveLayer<T> layer_;
};

REGARD_SCORING_FUNCTION(Additive, "w_v . tanh(W_q q + W_k k)")

}  // namespace regard
