#include "attention/head_outputs/input_gates.h"

#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/linear.h"
#include "nn/initializers.h"

namespace regard {

template <typename T>
InputGates<T>::InputGates(const ParameterScope<T>& scope, int64_t gates,
                          const HeadOutputWidths& widths,
                          std::optional<double> bias)
    : weight_(scope.Add("weight", {gates, widths.input},
                        widths.initialization(gates, widths.input))) {
  if (bias.has_value()) bias_ = scope.Add("bias", {gates}, Constant(*bias));
}

template <typename T>
Var<T> InputGates<T>::operator()(Forward<T>& forward, Var<T> x) const {
  const Var<T> bias = bias_.has_value() ? forward[bias_] : Var<T>();
  return forward.Site("gates", Sigmoid(Linear(x, forward[weight_], bias)));
}

REGARD_INSTANTIATE_CLASS(InputGates);

}  // namespace regard
