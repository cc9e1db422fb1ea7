#include "nn/rms_norm.h"

#include <cstdint>

#include "autodiff/ops/rms_norm.h"
#include "nn/initializers.h"

namespace regard {

template <typename T>
RmsNormLayer<T>::RmsNormLayer(const ParameterScope<T>& scope, int64_t width,
                              double epsilon)
    : weight_(scope.Add("weight", {width}, Constant(1),
                        {.role = ParameterRole::kNormalization})),
      epsilon_(epsilon) {}

template <typename T>
Var<T> RmsNormLayer<T>::operator()(Forward<T>& forward, Var<T> x) const {
  return RmsNorm(x, forward[weight_], static_cast<T>(epsilon_));
}

REGARD_INSTANTIATE_CLASS(RmsNormLayer);

}  // namespace regard
