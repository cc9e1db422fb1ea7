// The inner product s q . k of a query and a key of equal width. The factor s
// is 1 unless the options set it. Luong et al., "Effective approaches to
// attention-based neural machine translation", 2015.
#include <optional>

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

  std::optional<T> PlainFactor() const override {
    if (scale_.is_learned()) return std::nullopt;
    return scale_.constant();
  }

  std::optional<InnerForm<T>> Inner(Forward<T>& forward,
                                    const ScoreInputs<T>& in) const override {
    return InnerForm<T>{scale_.MultiplyByLearnedScale(forward, in.queries),
                        in.keys, scale_.constant()};
  }

 private:
  FixedOrLearnedScale<T> scale_;
};

REGARD_SCORING_FUNCTION(Dot, "q . k")

}  // namespace regard
