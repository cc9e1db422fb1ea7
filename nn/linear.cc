#include "nn/linear.h"

#include <cstdint>

#include "autodiff/ops/linear.h"
#include "nn/initializers.h"

namespace regard {

template <typename T>
LinearLayer<T>::LinearLayer(const ParameterScope<T>& scope, int64_t inputs,
                            int64_t outputs, const LinearOptions& options) {
  const Initializer plain = LinearDefault(inputs);
  weight_ = scope.Add("weight", {outputs, inputs},
                      options.initialization == XAVIER_UNIFORM
                          ? XavierUniform(outputs, inputs)
                          : plain);
  if (options.bias) bias_ = scope.Add("bias", {outputs}, plain);
}

template <typename T>
Var<T> LinearLayer<T>::operator()(Forward<T>& forward, Var<T> x) const {
  return Linear(x, forward[weight_],
                bias_.has_value() ? forward[bias_] : Var<T>());
}

template class LinearLayer<float>;
template class LinearLayer<double>;

}  // namespace regard
