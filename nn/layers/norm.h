// Normalises each row, then scales and shifts it: parameters "weight" and, if
// wanted, "bias", both [width], which weight decay leaves alone.
#ifndef NN_LAYERS_NORM_H_
#define NN_LAYERS_NORM_H_

#include <cstdint>

#include "autodiff/tape.h"
#include "nn/forward.h"
#include "nn/parameters.h"

namespace regard {

struct NormOptions {
  // Whether rows are divided by their root mean square (RMSNorm, which has no
  // bias); otherwise by their standard deviation, less their mean (LayerNorm).
  bool rms = false;
  double epsilon = 1e-5;  // added to the mean square or the variance
  bool bias = true;
};

template <typename T>
class NormLayer {
 public:
  NormLayer(const ParameterScope<T>& scope, int64_t width,
            const NormOptions& options = {});

  // x [.., width].
  Var<T> operator()(Forward<T>& forward, Var<T> x) const;

 private:
  NormOptions options_;
  Parameter<T> weight_;
  Parameter<T> bias_;  // may be absent
};

}  // namespace regard

#endif  // NN_LAYERS_NORM_H_
