// The inner product, q . k; query and key have one width.
// Luong et al., "Effective approaches to attention-based neural machine
// translation", 2015.
#include <optional>

#include "attention/kernels/scaled_dot_attention.h"
#include "attention/scoring/dot.pb.h"
#include "attention/scoring_kit.h"

namespace regard {

template <typename T>
class Dot : public ScoringFunction<T> {
 public:
  using Options = DotScore;
  static constexpr bool kEqualWidths = true;
  static constexpr bool kGroupedHeads = true;

  Dot(const Options&, ParameterScope<T>, const ScoreWidths&) {}

  Var<T> Score(Forward<T>&, const ScoreInputs<T>& in) const override {
    return InnerProducts(in.queries, in.keys);
  }

  std::optional<Var<T>> FusedContext(Forward<T>&, const ScoreInputs<T>& in,
                                     Var<T> values) const override {
    return ScaledDotAttention(in.queries, in.keys, values, in.mask, T(1),
                              in.positions);
  }
};

REGARD_SCORING_FUNCTION(Dot, "q . k")

}  // namespace regard
