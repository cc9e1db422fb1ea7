// Parametric Nadaraya-Watson: -|(q - k) * w|^2 / 2 with a learned scale w.
#include "attention/scoring/parametric_gaussian.pb.h"
#include "attention/scoring_kit.h"

namespace regard {

template <typename T>
class ParametricGaussian : public ScoringFunction<T> {
 public:
  using Options = ParametricGaussianScore;

  ParametricGaussian(const Options& options, ParameterScope<T> scope,
                     const ScoreWidths& widths) {
    const int64_t width = options.per_dimension() ? widths.query : 1;
    w_ = scope.Add("w", {widths.heads, 1, 1, width},
                   [](const RandomStream& stream, int64_t i) {
                     return stream.UniformAt(static_cast<uint64_t>(i));
                   });
  }

  static void Validate(const Options&, const ScoreWidths& widths,
                       ConfigProblems& problems) {
    RequireEqualWidths(widths, problems);
  }

  Var<T> Score(Forward<T>& forward, const ScoreInputs<T>& in) const override {
    return T(-0.5) * Sum(Square(Differences(in.queries, in.keys) * forward[w_]),
                         /*axis=*/-1);
  }

 private:
  Parameter<T> w_;
};

REGARD_SCORING_FUNCTION(ParametricGaussian, "-|(q - k) w|^2 / 2")

}  // namespace regard
