// The soft cap of scores,
//
//   cap * tanh(score / cap).
//
// Gemma Team, "Gemma 2: Improving open language models at a practical
// size", 2024. A score of -inf, which masks a key, stays -inf. If the cap is
// far above all scores, the map changes scores only by rounding, and the layer
// is plain attention.
#include <limits>

#include "attention/score_map.h"
#include "attention/score_maps/score_map.pb.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/tape.h"

namespace regard {

template <typename T>
class SoftCap : public ScoreMap<T> {
 public:
  using Options = SoftCapMap;

  SoftCap(const Options& options, ParameterScope<T>, const ScoreWidths&)
      : cap_(static_cast<T>(options.cap())) {}

  Var<T> Map(Forward<T>&, Var<T> x, const ScoreInputs<T>&) const override {
    constexpr T kFar = std::numeric_limits<T>::max() / 2;
    return Where(x + kFar, cap_ * Tanh(x / cap_), x);
  }

 private:
  T cap_;
};

REGARD_SCORE_MAP(SoftCap, "cap tanh(s / cap)")

}  // namespace regard
