// The optimizers Adam and AdamW, as in torch.optim.
#ifndef OPTIMIZATION_OPTIMIZERS_ADAM_H_
#define OPTIMIZATION_OPTIMIZERS_ADAM_H_

#include "nn/parameters.h"
#include "optimization/optimizer.h"
#include "optimization/optimizers/weight_decay.h"

namespace regard {

struct AdamOptions {
  double beta1 = 0.9;     // decay of the mean of gradients
  double beta2 = 0.999;   // decay of the mean of squared gradients
  double epsilon = 1e-8;  // > 0; added to the root of the mean of squares
  double weight_decay = 0;
  // Whether weight decay acts directly on the parameters, as in AdamW, or is
  // added to their gradient.
  bool decoupled = false;
  Decayed decayed = Decayed::kExceptNormalization;
};

template <typename T>
class Adam : public Optimizer<T> {
 public:
  // `parameters` must be finalized and outlive this.
  Adam(const AdamOptions& options, ParameterStore<T>& parameters);

 protected:
  void Apply(const ParameterRangeUpdate<T>& update) override;

 private:
  const AdamOptions options_;
};

}  // namespace regard

#endif  // OPTIMIZATION_OPTIMIZERS_ADAM_H_
