// Stochastic gradient descent with momentum, as in torch.optim.SGD.
#ifndef OPTIMIZATION_OPTIMIZERS_SGD_H_
#define OPTIMIZATION_OPTIMIZERS_SGD_H_

#include "nn/parameters.h"
#include "optimization/optimizer.h"
#include "optimization/optimizers/weight_decay.h"

namespace regard {

struct SgdOptions {
  double momentum = 0;  // fraction of the velocity that a step keeps
  bool nesterov = false;
  double weight_decay = 0;  // added to the gradient
  Decayed decayed = Decayed::kExceptNormalization;
};

template <typename T>
class Sgd : public Optimizer<T> {
 public:
  // `parameters` must be finalized and outlive this.
  Sgd(const SgdOptions& options, ParameterStore<T>& parameters);

 protected:
  void Apply(const ParameterRangeUpdate<T>& update) override;

 private:
  const SgdOptions options_;
};

}  // namespace regard

#endif  // OPTIMIZATION_OPTIMIZERS_SGD_H_
