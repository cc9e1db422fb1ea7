#include "nn/layers/linear.h"

#include "autodiff/ops/linear.h"
#include "nn/initializers.h"

namespace regard {

namespace {

Initializer WeightInitializer(int64_t inputs, int64_t outputs,
                              const LinearOptions& options) {
  switch (options.initialization) {
    case XAVIER_UNIFORM:
      return XavierUniform(outputs, inputs);
    case NORMAL:
      return Normal(options.standard_deviation);
    case TRUNCATED_NORMAL:
      return TruncatedNormal(options.standard_deviation);
    default:
      return LinearDefault(inputs);
  }
}

}  // namespace

template <typename T>
LinearLayer<T>::LinearLayer(const ParameterScope<T>& scope, int64_t inputs,
                            int64_t outputs, const LinearOptions& options) {
  weight_ = scope.Add("weight", {outputs, inputs},
                      WeightInitializer(inputs, outputs, options));
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
