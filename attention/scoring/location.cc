// The score w_i . q of a query q and the key at position i. The score does not
// depend on the content of the key. Keys after the last w_i have weight 0.
// Luong et al., "Effective approaches to attention-based neural machine
// translation", 2015.
#include <algorithm>
#include <limits>

#include "attention/scoring/location.pb.h"
#include "attention/scoring_kit.h"

namespace regard {

template <typename T>
class Location : public ScoringFunction<T> {
 public:
  using Options = LocationScore;

  static constexpr bool kPositionAware = true;

  Location(const Options& options, ParameterScope<T> scope,
           const ScoreWidths& widths)
      : max_keys_(options.max_keys()) {
    w_ = scope.Add("w", {widths.heads, max_keys_, widths.query},
                   XavierUniform(max_keys_, widths.query));
  }

  Var<T> Score(Forward<T>& forward, const ScoreInputs<T>& in) const override {
    const int64_t begin = std::min(in.positions.first_key, max_keys_);
    const int64_t count = std::min(in.keys.dim(2), max_keys_ - begin);
    const Var<T> w = Slice(forward[w_], /*axis=*/1, begin, count);
    const Var<T> scores = ProjectHeads(in.queries, w);
    if (count == in.keys.dim(2)) return scores;
    const Var<T> further =
        forward.tape().Full(ScoreShape(in).With(3, in.keys.dim(2) - count),
                            -std::numeric_limits<T>::infinity());
    const Var<T> all[] = {scores, further};
    return Concat<T>(all, /*axis=*/3);
  }

 private:
  int64_t max_keys_;
  Parameter<T> w_;
};

REGARD_SCORING_FUNCTION(Location, "w_i . q")

}  // namespace regard
