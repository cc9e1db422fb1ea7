// The bilinear form q . W k / (dq dk)^(1/4). With the initial values below, its
// variance does not depend on the widths dq and dk of query and key.
#include <cmath>
#include <optional>

#include "attention/scoring/scaled_bilinear.pb.h"
#include "attention/scoring_kit.h"

namespace regard {

template <typename T>
class ScaledBilinear : public ScoringFunction<T> {
 public:
  using Options = ScaledBilinearScore;

  ScaledBilinear(const Options&, ParameterScope<T> scope,
                 const ScoreWidths& widths) {
    const double scale =
        std::pow(static_cast<double>(widths.query * widths.key), -0.25);
    scale_ = static_cast<T>(scale);
    w_ = scope.Add("w", {widths.heads, widths.query, widths.key},
                   Uniform(std::sqrt(3.0) * scale));
  }

  Var<T> Prepare(Forward<T>& forward,
                 const PrepareInputs<T>& in) const override {
    return ProjectHeads(in.keys, forward[w_]);
  }

  std::optional<InnerForm<T>> Inner(Forward<T>&,
                                    const ScoreInputs<T>& in) const override {
    return InnerForm<T>{in.queries, in.keys, scale_};
  }

 private:
  T scale_;
  Parameter<T> w_;
};

REGARD_SCORING_FUNCTION(ScaledBilinear, "q . W k / (dq dk)^(1/4)")

}  // namespace regard
