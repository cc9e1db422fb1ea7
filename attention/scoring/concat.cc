// One perceptron layer on query and key, w_v . tanh(W [q; k]). This is the
// additive score with W_q and W_k in one matrix. Luong et al., "Effective
// approaches to attention-based neural machine translation", 2015.
#include "attention/kernels/additive_scores.h"
#include "attention/scoring/concat.pb.h"
#include "attention/scoring_kit.h"

// This namespace avoids a clash with the operation regard::Concat.
namespace regard::concat {

template <typename T>
class Concat : public ScoringFunction<T> {
 public:
  using Options = ConcatScore;
  static constexpr bool kPreparesOtherWidths = true;

  Concat(const Options& options, ParameterScope<T> scope,
         const ScoreWidths& widths)
      : dq_(widths.query), dk_(widths.key) {
    const int64_t width = options.width() > 0 ? options.width() : dq_;
    w_ = scope.Add("w", {widths.heads, width, dq_ + dk_},
                   XavierUniform(width, dq_ + dk_));
    w_v_ = scope.Add("w_v", {widths.heads, width}, XavierUniform(1, width));
  }

  Var<T> Prepare(Forward<T>& forward,
                 const PrepareInputs<T>& in) const override {
    return ProjectHeads(in.keys, Slice(forward[w_], /*axis=*/2, dq_, dk_));
  }

  Var<T> Score(Forward<T>& forward, const ScoreInputs<T>& in) const override {
    const Var<T> w_q = Slice(forward[w_], /*axis=*/2, 0, dq_);
    return AdditiveScores(ProjectHeads(in.queries, w_q), in.keys, forward[w_v_],
                          in.mask, in.positions);
  }

 private:
  int64_t dq_, dk_;
  Parameter<T> w_, w_v_;
};

REGARD_SCORING_FUNCTION(Concat, "w_v . tanh(W [q; k])")

}  // namespace regard::concat
