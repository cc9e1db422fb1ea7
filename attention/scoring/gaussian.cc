// Nadaraya-Watson regression with a Gaussian kernel of width 1: -|q - k|^2 / 2.
// Nadaraya 1964; Watson 1964.
#include "attention/kernels/gaussian_scores.h"
#include "attention/scoring/gaussian.pb.h"
#include "attention/scoring_kit.h"

namespace regard {

template <typename T>
class Gaussian : public ScoringFunction<T> {
 public:
  using Options = GaussianScore;
  static constexpr bool kEqualWidths = true;

  Gaussian(const Options&, ParameterScope<T>, const ScoreWidths&) {}

  Var<T> Score(Forward<T>& forward, const ScoreInputs<T>& in) const override {
    return GaussianScores(in.queries, in.keys, forward.tape().Full({1}, T(1)));
  }
};

REGARD_SCORING_FUNCTION(Gaussian, "-|q - k|^2 / 2")

}  // namespace regard
