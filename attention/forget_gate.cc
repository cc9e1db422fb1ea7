#include "attention/forget_gate.h"

#include <cstdint>

#include "autodiff/ops/cumulative_sum.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/linear.h"
#include "autodiff/ops/shape_ops.h"
#include "nn/initializers.h"

namespace regard {

template <typename T>
ForgetGate<T>::ForgetGate(const Forget& config, const ParameterScope<T>& scope,
                          const ScoreWidths& widths)
    : weight_(scope.Add("weight", {widths.heads, widths.query_input},
                        XavierUniform(widths.heads, widths.query_input))),
      bias_(scope.Add("bias", {widths.heads}, Constant(config.bias()),
                      {.role = ParameterRole::kHeadBias})),
      sum_(widths.AddStateSlot("sum")),
      sums_(widths.AddStateSlot("sums")) {}

template <typename T>
DifferenceBias<T> ForgetGate<T>::Bias(Forward<T>& forward, Var<T> x,
                                      LayerState<T>* state) const {
  constexpr int kTimeAxis = 2;
  const Var<T> z = Linear(x, forward[weight_], forward[bias_]);
  // log sigmoid(z) = -log(1 + exp(-z)).
  const Var<T> logs = forward.Site("log_decays", -Softplus(-z));
  const int64_t time = x.dim(1);
  Var<T> sums = Permute(logs, {0, 2, 1}).Reshape({x.dim(0), z.dim(2), time, 1});
  if (state == nullptr) {
    sums = CumulativeSum(sums, kTimeAxis);
    return {sums, sums};
  }
  const Var<T> before = state->RowValue(sum_);
  if (before.has_value()) {
    sums = CumulativeSum(Concat<T>({before, sums}, kTimeAxis), kTimeAxis);
    sums = Slice(sums, kTimeAxis, 1, time);
  } else {
    sums = CumulativeSum(sums, kTimeAxis);
  }
  state->SetRowValue(sum_, Slice(sums, kTimeAxis, time - 1, 1));
  return {sums, state->Append(sums_, sums)};
}

REGARD_INSTANTIATE_CLASS(ForgetGate);

}  // namespace regard
