// A pass of a model over few examples, for programs that look at what the model
// computes.
#ifndef OPTIMIZATION_MODEL_PASS_H_
#define OPTIMIZATION_MODEL_PASS_H_

#include <cstdint>
#include <functional>

#include "nn/forward.h"
#include "optimization/model.h"

namespace regard {

// Computes the loss of a few training examples, in training mode. If there are
// none, evaluates the dev split, and then the test split unless `is_done`
// returns true. `forward` must be over the parameters of `model`.
void RunModelOnce(Model<float>& model, uint64_t seed, Forward<float>& forward,
                  const std::function<bool()>& is_done);

}  // namespace regard

#endif  // OPTIMIZATION_MODEL_PASS_H_
