// The linear layer x W^T + b, with the parameters "weight" [outputs, inputs]
// and "bias" [outputs].
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
  // Whether biases are 0 initially. If false, they have PyTorch's initial
  // values.
  bool zero_bias = false;
};

template <typename T>
class LinearLayer {
 public:
  LinearLayer(const ParameterScope<T>& scope, int64_t inputs, int64_t outputs,
              const LinearOptions& options = {});

  // Maps x [.., inputs] to [.., outputs].
  Var<T> operator()(Forward<T>& forward, Var<T> x) const;

  Parameter<T> weight() const { return weight_; }
  Parameter<T> bias() const { return bias_; }  // empty without a bias

 private:
  Parameter<T> weight_;
  Parameter<T> bias_;
};

}  // namespace regard

#endif  // NN_LAYERS_LINEAR_H_
