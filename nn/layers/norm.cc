#include "nn/layers/norm.h"

#include "autodiff/ops/norm.h"
#include "nn/initializers.h"

namespace regard {

template <typename T>
NormLayer<T>::NormLayer(const ParameterScope<T>& scope, int64_t width,
                        const NormOptions& options)
    : options_(options),
      weight_(scope.Add("weight", {width}, Constant(1),
                        {.role = ParameterRole::kNormalization})) {
  if (options.rms || !options.bias) return;
  bias_ = scope.Add("bias", {width}, Zeros(),
                    {.role = ParameterRole::kNormalization});
}

template <typename T>
Var<T> NormLayer<T>::operator()(Forward<T>& forward, Var<T> x) const {
  const T epsilon = static_cast<T>(options_.epsilon);
  if (options_.rms) return RmsNorm(x, forward[weight_], epsilon);
  return LayerNorm(x, forward[weight_],
                   bias_.has_value() ? forward[bias_] : Var<T>(), epsilon);
}

REGARD_INSTANTIATE_CLASS(NormLayer);

}  // namespace regard
