// Parametric Nadaraya-Watson regression: -|(q - k) w|^2 / 2 with a factor w,
// which is learned by default.
#include "attention/kernels/gaussian_scores.h"
#include "attention/score_scale.h"
#include "attention/scoring/parametric_gaussian.pb.h"
#include "attention/scoring_kit.h"

namespace regard {

template <typename T>
class ParametricGaussian : public ScoringFunction<T> {
 public:
  using Options = ParametricGaussianScore;
  static constexpr bool kEqualWidths = true;

  ParametricGaussian(const Options& options, ParameterScope<T> scope,
                     const ScoreWidths& widths)
      : w_(options.scale(), scope, "w", widths,
           [](const RandomStream& stream, int64_t i) {
             return stream.UniformAt(static_cast<uint64_t>(i));
           }) {}

  Var<T> Score(Forward<T>& forward, const ScoreInputs<T>& in) const override {
    return GaussianScores(in.queries, in.keys, w_.Values(forward));
  }

 private:
  FixedOrLearnedScale<T> w_;
};

REGARD_SCORING_FUNCTION(ParametricGaussian, "-|(q - k) w|^2 / 2")

}  // namespace regard
