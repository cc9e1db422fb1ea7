// Normalizes each row, then scales and shifts it. The parameters "weight" and,
// optionally, "bias" are [width]. Weight decay does not apply to these
// parameters.
#ifndef NN_LAYERS_NORM_H_
#define NN_LAYERS_NORM_H_

#include <cstdint>

#include "autodiff/tape.h"
#include "nn/forward.h"
#include "nn/parameters.h"

namespace regard {

struct NormOptions {
  // If true, the layer is RMSNorm: it divides rows by their root mean square
  // and has no bias. If false, the layer is LayerNorm: it subtracts the mean
  // and divides by the standard deviation.
  bool rms = false;
  double epsilon = 1e-5;  // added to the mean square or the variance
  bool bias = true;
};

template <typename T>
class NormLayer {
 public:
  NormLayer(const ParameterScope<T>& scope, int64_t width,
            const NormOptions& options = {});

  // Maps x [.., width] to the same shape.
  Var<T> operator()(Forward<T>& forward, Var<T> x) const;

 private:
  NormOptions options_;
  Parameter<T> weight_;
  Parameter<T> bias_;  // empty without a bias
};

}  // namespace regard

#endif  // NN_LAYERS_NORM_H_
