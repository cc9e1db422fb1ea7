#include <limits>

#include "attention/score_map.h"
#include "autodiff/ops/elementwise.h"
#include "my_map.pb.h"

namespace lab {

using regard::Var;

// factor * tanh(s): scores between -factor and factor.
template <typename T>
class MyMap : public regard::ScoreMap<T> {
 public:
  using Options = MyMapOptions;

  MyMap(const Options& options, regard::ParameterScope<T> /*scope*/,
        const regard::ScoreWidths&)
      : factor_(static_cast<T>(options.factor())) {}

  Var<T> Map(regard::Forward<T>&, Var<T> scores,
             const regard::ScoreInputs<T>&) const override {
    constexpr T kMax = std::numeric_limits<T>::max();
    return Where(scores + kMax, factor_ * Tanh(scores), scores);
  }

 private:
  T factor_;
};

REGARD_SCORE_MAP(MyMap, "a tanh(s)")

}  // namespace lab
