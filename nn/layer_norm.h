// Normalises each row, then scales and shifts it: parameters "weight" and, if
// wanted, "bias", both [width], which weight decay leaves alone.
#ifndef NN_LAYER_NORM_H_
#define NN_LAYER_NORM_H_

#include <cstdint>

#include "autodiff/tape.h"
#include "nn/forward.h"
#include "nn/parameters.h"

namespace regard {

template <typename T>
class LayerNormLayer {
 public:
  // `epsilon` is added to the variance.
  LayerNormLayer(const ParameterScope<T>& scope, int64_t width,
                 double epsilon = 1e-5, bool bias = true);

  // x [.., width].
  Var<T> operator()(Forward<T>& forward, Var<T> x) const;

 private:
  Parameter<T> weight_;
  Parameter<T> bias_;  // may be absent
  double epsilon_;
};

}  // namespace regard

#endif  // NN_LAYER_NORM_H_
