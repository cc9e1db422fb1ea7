// The bilinear form q . W k, "general" in Luong et al., "Effective approaches
// to attention-based neural machine translation", 2015.
#include "attention/scoring/bilinear.pb.h"
#include "attention/scoring_kit.h"

namespace regard {

template <typename T>
class Bilinear : public ScoringFunction<T> {
 public:
  using Options = BilinearScore;

  Bilinear(const Options&, ParameterScope<T> scope, const ScoreWidths& widths) {
    w_ = scope.Add("w", {widths.heads, widths.query, widths.key},
                   XavierUniform(widths.query, widths.key));
  }

  Var<T> Prepare(Forward<T>& forward, Var<T> keys,
                 int64_t /*key_position*/) const override {
    return ProjectHeads(keys, forward[w_]);
  }

  Var<T> Score(Forward<T>&, const ScoreInputs<T>& in) const override {
    return InnerProducts(in.queries, in.keys);
  }

 private:
  Parameter<T> w_;
};

REGARD_SCORING_FUNCTION(Bilinear, "q . W k")

}  // namespace regard
