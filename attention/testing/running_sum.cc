// A score for tests. It reads the inputs x of queries and keys, and keeps the
// sum of all earlier keys in the state:
//
//   s_ij = (q_i + U x_i) . (k_1 + .. + k_j + W x_j), or its tanh.
#include <optional>

#include "attention/scoring_kit.h"
#include "attention/testing/running_sum.pb.h"
#include "autodiff/ops/cumulative_sum.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

constexpr int kKeyAxis = 2;

// Multiplies x [batch, n, in] by the weight of each head: [batch, heads, n,
// out].
template <typename T>
Var<T> ProjectInput(Var<T> x, Var<T> weight) {
  const Shape& s = x.shape();
  const Var<T> of_heads = BroadcastTo(x.Reshape({s[0], 1, s[1], s[2]}),
                                      {s[0], weight.dim(0), s[1], s[2]});
  return ProjectHeads(of_heads, weight);
}

}  // namespace

template <typename T>
class RunningSum : public ScoringFunction<T> {
 public:
  using Options = RunningSumScore;
  static constexpr bool kEqualWidths = true;
  static constexpr bool kPositionAware = true;

  RunningSum(const Options& options, ParameterScope<T> scope,
             const ScoreWidths& widths)
      : bounded_(options.bounded()), sum_(widths.AddStateSlot("sum")) {
    u_ = scope.Add("u", {widths.heads, widths.query, widths.query_input},
                   Uniform(1));
    w_ = scope.Add("w", {widths.heads, widths.key, widths.key_input},
                   Uniform(1));
  }

  Var<T> Prepare(Forward<T>& forward,
                 const PrepareInputs<T>& in) const override {
    return SumOfKeys(in) + ProjectInput(in.x, forward[w_]);
  }

  std::optional<InnerForm<T>> Inner(Forward<T>& forward,
                                    const ScoreInputs<T>& in) const override {
    if (bounded_) return std::nullopt;
    return InnerForm<T>{Queries(forward, in), in.keys, T(1)};
  }

  Var<T> Score(Forward<T>& forward, const ScoreInputs<T>& in) const override {
    const Var<T> scores = InnerProducts(Queries(forward, in), in.keys);
    return bounded_ ? Tanh(scores) : scores;
  }

 private:
  Var<T> Queries(Forward<T>& forward, const ScoreInputs<T>& in) const {
    return in.queries + ProjectInput(in.x, forward[u_]);
  }

  Var<T> SumOfKeys(const PrepareInputs<T>& in) const {
    if (in.state == nullptr) return CumulativeSum(in.keys, kKeyAxis);
    REGARD_CHECK_NE(sum_, ScoreWidths::kNoSlot);
    const int64_t n = in.keys.dim(kKeyAxis);
    const Var<T> before = in.state->RowValue(sum_);
    Var<T> sum;
    if (before.has_value()) {
      sum = CumulativeSum(Concat<T>({before, in.keys}, kKeyAxis), kKeyAxis);
      sum = Slice(sum, kKeyAxis, 1, n);
    } else {
      sum = CumulativeSum(in.keys, kKeyAxis);
    }
    in.state->SetRowValue(sum_, Slice(sum, kKeyAxis, n - 1, 1));
    return sum;
  }

  bool bounded_;
  int sum_;
  Parameter<T> u_, w_;
};

REGARD_SCORING_FUNCTION(RunningSum, "(q + U x) . (sum of k + W x)")

}  // namespace regard
