// The inner product s q . k, where the factor s is 1 unless the options give
// one; query and key have one width.
// Luong et al., "Effective approaches to attention-based neural machine
// translation", 2015.
#include <optional>

#include "attention/kernels/scaled_dot_attention.h"
#include "attention/score_scale.h"
#include "attention/scoring/dot.pb.h"
#include "attention/scoring_kit.h"

namespace regard {

template <typename T>
class Dot : public ScoringFunction<T> {
 public:
  using Options = DotScore;
  static constexpr bool kEqualWidths = true;
  static constexpr bool kGroupedHeads = true;

  Dot(const Options& options, ParameterScope<T> scope,
      const ScoreWidths& widths) {
    if (options.has_scale()) {
      scale_ = {options.scale(), scope, "scale", widths, Constant(1)};
    }
  }

  Var<T> Score(Forward<T>& forward, const ScoreInputs<T>& in) const override {
    return InnerProducts(scale_.Times(forward, in.queries), in.keys);
  }

  std::optional<Var<T>> FusedContext(
      Forward<T>& forward, const ScoreInputs<T>& in, Var<T> values,
      const ContextOptions<T>& options) const override {
    return ScaledDotAttention(scale_.TimesLearned(forward, in.queries), in.keys,
                              values, in.mask, scale_.constant(), in.positions,
                              options);
  }
  bool ReadsHeadsSideBySide() const override { return !scale_.is_learned(); }

 private:
  ScoreScaleParameter<T> scale_;
};

REGARD_SCORING_FUNCTION(Dot, "q . k")

}  // namespace regard
