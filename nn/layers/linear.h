// The affine layer: x W^T + b, with parameters "weight" [outputs, inputs] and
// "bias" [outputs].
#ifndef NN_LAYERS_LINEAR_H_
#define NN_LAYERS_LINEAR_H_

#include <cstdint>

#include "autodiff/tape.h"
#include "nn/forward.h"
#include "nn/initializers.h"
#include "nn/parameters.h"

namespace regard {

struct LinearOptions {
  bool bias = true;
  WeightInitializer initialization = nullptr;  // null: LinearDefault()
  // Whether biases start at 0 instead of PyTorch's default.
  bool zero_bias = false;
};

template <typename T>
class LinearLayer {
 public:
  LinearLayer(const ParameterScope<T>& scope, int64_t inputs, int64_t outputs,
              const LinearOptions& options = {});

  // x [.., inputs] -> [.., outputs].
  Var<T> operator()(Forward<T>& forward, Var<T> x) const;

  Parameter<T> weight() const { return weight_; }
  Parameter<T> bias() const { return bias_; }  // may be absent

 private:
  Parameter<T> weight_;
  Parameter<T> bias_;
};

}  // namespace regard

#endif  // NN_LAYERS_LINEAR_H_
