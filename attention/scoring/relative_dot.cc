// The scaled inner product with terms for relative positions:
// (q . k + q . E[l - r]) / sqrt(d), optionally with k . E[l - r]. All heads
// share one E, as in the published layer. Shaw et al. 2018; Huang et al. 2020.
#include <cmath>

#include "attention/kernels/relative_scores.h"
#include "attention/scoring/relative_dot.pb.h"
#include "attention/scoring_kit.h"

namespace regard {

template <typename T>
class RelativeDot : public ScoringFunction<T> {
 public:
  using Options = RelativeDotScore;
  static constexpr bool kEqualWidths = true;
  static constexpr bool kPositionAware = true;

  RelativeDot(const Options& options, ParameterScope<T> scope,
              const ScoreWidths& widths)
      : max_position_(options.max_position()),
        of_keys_(options.terms() == RelativeDotScore::RELATIVE_KEY_QUERY),
        scale_(T(1) / std::sqrt(static_cast<T>(widths.query))) {
    embedding_ =
        scope.Add("distance_embedding", {2 * max_position_ - 1, widths.query},
                  Normal(0.02), {.role = ParameterRole::kEmbedding});
  }

  int64_t MaxDistance() const override { return max_position_ - 1; }

  Var<T> Score(Forward<T>& forward, const ScoreInputs<T>& in) const override {
    const RelativeScorePairs positions = {.queries = in.queries.dim(2),
                                          .keys = in.keys.dim(2),
                                          .at = in.positions,
                                          .window = in.mask.window};
    const Var<T> embedding = forward[embedding_];
    // Separate statements fix the order in which gradients are accumulated.
    Var<T> scores = RelativeQueryScores(in.queries, embedding, positions);
    scores = InnerProducts(in.queries, in.keys) + scores;
    if (of_keys_) {
      scores = scores + RelativeKeyScores(in.keys, embedding, positions);
    }
    return scores * scale_;
  }

 private:
  int64_t max_position_;
  Parameter<T> embedding_;
  bool of_keys_;
  T scale_;
};

REGARD_SCORING_FUNCTION(RelativeDot, "(q . k + q . E[l - r]) / sqrt(d)")

}  // namespace regard
