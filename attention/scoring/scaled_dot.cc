// The inner product q . k / sqrt(d), whose variance does not grow with the
// width d. Vaswani et al., "Attention is all you need", 2017.
#include <cmath>
#include <optional>

#include "attention/kernels/scaled_dot_attention.h"
#include "attention/scoring/scaled_dot.pb.h"
#include "attention/scoring_kit.h"

namespace regard {

template <typename T>
class ScaledDot : public ScoringFunction<T> {
 public:
  using Options = ScaledDotScore;
  static constexpr bool kEqualWidths = true;
  static constexpr bool kGroupedHeads = true;

  ScaledDot(const Options&, ParameterScope<T>, const ScoreWidths& widths)
      : scale_(static_cast<T>(1 / std::sqrt(widths.query))) {}

  Var<T> Score(Forward<T>&, const ScoreInputs<T>& in) const override {
    return InnerProducts(in.queries * scale_, in.keys);
  }

  std::optional<Var<T>> FusedContext(
      Forward<T>&, const ScoreInputs<T>& in, Var<T> values,
      const ContextOptions<T>& options) const override {
    return ScaledDotAttention(in.queries, in.keys, values, in.mask, scale_,
                              in.positions, options);
  }
  bool ReadsHeadsSideBySide() const override { return true; }

 private:
  T scale_;
};

REGARD_SCORING_FUNCTION(ScaledDot, "q . k / sqrt(d)")

}  // namespace regard
