// The bilinear form q . W k, called "general" in Luong et al., "Effective
// approaches to attention-based neural machine translation", 2015. The options
// can add a factor.
#include <optional>

#include "attention/score_scale.h"
#include "attention/scoring/bilinear.pb.h"
#include "attention/scoring_kit.h"

namespace regard {

template <typename T>
class Bilinear : public ScoringFunction<T> {
 public:
  using Options = BilinearScore;

  Bilinear(const Options& options, ParameterScope<T> scope,
           const ScoreWidths& widths) {
    w_ = scope.Add("w", {widths.heads, widths.query, widths.key},
                   XavierUniform(widths.query, widths.key));
    if (options.has_scale()) {
      scale_ = {options.scale(), scope, "scale", widths, Constant(1)};
    }
  }

  Var<T> Prepare(Forward<T>& forward,
                 const PrepareInputs<T>& in) const override {
    return ProjectHeads(in.keys, forward[w_]);
  }

  std::optional<InnerForm<T>> Inner(Forward<T>& forward,
                                    const ScoreInputs<T>& in) const override {
    return InnerForm<T>{scale_.MultiplyByLearnedScale(forward, in.queries),
                        in.keys, scale_.constant()};
  }

 private:
  Parameter<T> w_;
  FixedOrLearnedScale<T> scale_;
};

REGARD_SCORING_FUNCTION(Bilinear, "q . W k")

}  // namespace regard
