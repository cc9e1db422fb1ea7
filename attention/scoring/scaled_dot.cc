// The inner product q . k / sqrt(d), whose variance does not grow with the
// width d. Vaswani et al., "Attention is all you need", 2017.
#include <cmath>
#include <optional>

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

  std::optional<T> PlainFactor() const override { return scale_; }

 private:
  T scale_;
};

REGARD_SCORING_FUNCTION(ScaledDot, "q . k / sqrt(d)")

}  // namespace regard
