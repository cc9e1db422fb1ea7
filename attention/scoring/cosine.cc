// The cosine of query and key, times a scale: s q . k / (|q| |k|).
#include <optional>

#include "attention/score_scale.h"
#include "attention/scoring/cosine.pb.h"
#include "attention/scoring_kit.h"

namespace regard {

template <typename T>
class Cosine : public ScoringFunction<T> {
 public:
  using Options = CosineScore;
  static constexpr bool kEqualWidths = true;
  static constexpr bool kGroupedHeads = true;

  Cosine(const Options& options, ParameterScope<T> scope,
         const ScoreWidths& widths)
      : scale_(options.scale(), scope, "scale", widths, Constant(10)) {}

  Var<T> Prepare(Forward<T>&, const PrepareInputs<T>& in) const override {
    return L2Normalize(in.keys);
  }

  std::optional<InnerForm<T>> Inner(Forward<T>& forward,
                                    const ScoreInputs<T>& in) const override {
    return InnerForm<T>{
        scale_.MultiplyByLearnedScale(forward, L2Normalize(in.queries)),
        in.keys, scale_.constant()};
  }

 private:
  FixedOrLearnedScale<T> scale_;
};

REGARD_SCORING_FUNCTION(Cosine, "s q . k / (|q| |k|)")

}  // namespace regard
