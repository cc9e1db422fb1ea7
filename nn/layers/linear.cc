#include "nn/layers/linear.h"

#include "autodiff/ops/linear.h"

namespace regard {

template <typename T>
LinearLayer<T>::LinearLayer(const ParameterScope<T>& scope, int64_t inputs,
                            int64_t outputs, const LinearOptions& options) {
  weight_ = scope.Add("weight", {outputs, inputs},
                      options.initialization == nullptr
                          ? LinearDefault(inputs)
                          : options.initialization(outputs, inputs));
  if (!options.bias) return;
  bias_ = scope.Add("bias", {outputs},
                    options.zero_bias ? Zeros() : LinearDefault(inputs));
}

template <typename T>
Var<T> LinearLayer<T>::operator()(Forward<T>& forward, Var<T> x) const {
  return Linear(x, forward[weight_],
                bias_.has_value() ? forward[bias_] : Var<T>());
}

REGARD_INSTANTIATE_CLASS(LinearLayer);

}  // namespace regard
