// The additive score, w_v . tanh(W_q q + W_k k), without biases.
// Bahdanau et al., "Neural machine translation by jointly learning to align and
// translate", 2015.
#include "attention/additive_scores.h"
#include "attention/scoring/additive.pb.h"
#include "attention/scoring_kit.h"

namespace regard {

template <typename T>
class Additive : public ScoringFunction<T> {
 public:
  using Options = AdditiveScore;

  Additive(const Options& options, ParameterScope<T> scope,
           const ScoreWidths& widths) {
    const int64_t width = options.width() > 0 ? options.width() : widths.query;
    w_q_ = scope.Add("w_q", {widths.heads, width, widths.query},
                     XavierUniform(width, widths.query));
    w_k_ = scope.Add("w_k", {widths.heads, width, widths.key},
                     XavierUniform(width, widths.key));
    w_v_ = scope.Add("w_v", {widths.heads, width}, XavierUniform(1, width));
  }

  static void Validate(const Options& options, const ScoreWidths&,
                       ConfigProblems& problems) {
    problems.RequireInRange("width", options.width(), 0, 65536);
  }

  Var<T> Prepare(Forward<T>& forward, Var<T> keys) const override {
    return ProjectHeads(keys, forward[w_k_]);
  }

  Var<T> Score(Forward<T>& forward, const ScoreInputs<T>& in) const override {
    return AdditiveScores(ProjectHeads(in.queries, forward[w_q_]), in.keys,
                          forward[w_v_], in.mask);
  }

 private:
  Parameter<T> w_q_, w_k_, w_v_;
};

REGARD_SCORING_FUNCTION(Additive, "w_v . tanh(W_q q + W_k k)")

}  // namespace regard
