// Average pooling: the same score for every key.
#include "attention/scoring/average.pb.h"
#include "attention/scoring_kit.h"

namespace regard {

template <typename T>
class Average : public ScoringFunction<T> {
 public:
  using Options = AverageScore;

  Average(const Options&, ParameterScope<T>, const ScoreWidths&) {}

  Var<T> Score(Forward<T>& forward, const ScoreInputs<T>& in) const override {
    return forward.tape().Full(ScoreShape(in), T(0));
  }
};

REGARD_SCORING_FUNCTION(Average, "0")

}  // namespace regard
