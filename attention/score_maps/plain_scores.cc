// Leaves scores unchanged, like attention without a score map.
#include "attention/score_map.h"
#include "attention/score_maps/score_map.pb.h"
#include "autodiff/tape.h"

namespace regard {

template <typename T>
class PlainScores : public ScoreMap<T> {
 public:
  using Options = NoScoreMap;

  PlainScores(const Options&, ParameterScope<T>, const ScoreWidths&) {}

  Var<T> Map(Forward<T>&, Var<T> x, const ScoreInputs<T>&) const override {
    return x;
  }
};

REGARD_SCORE_MAP(PlainScores, "s")

}  // namespace regard
