#include "nn/layer_norm.h"

#include <cstdint>

#include "autodiff/ops/layer_norm.h"
#include "nn/initializers.h"

namespace regard {

template <typename T>
LayerNormLayer<T>::LayerNormLayer(const ParameterScope<T>& scope, int64_t width,
                                  double epsilon, bool bias)
    : weight_(scope.Add("weight", {width}, Constant(1),
                        {.role = ParameterRole::kNormalization})),
      epsilon_(epsilon) {
  if (bias) {
    bias_ = scope.Add("bias", {width}, Zeros(),
                      {.role = ParameterRole::kNormalization});
  }
}

template <typename T>
Var<T> LayerNormLayer<T>::operator()(Forward<T>& forward, Var<T> x) const {
  return LayerNorm(x, forward[weight_],
                   bias_.has_value() ? forward[bias_] : Var<T>(),
                   static_cast<T>(epsilon_));
}

REGARD_INSTANTIATE_CLASS(LayerNormLayer);

}  // namespace regard
