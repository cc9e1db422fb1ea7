// Runs a model once on few examples, so that programs can observe its
// operations.
#ifndef OPTIMIZATION_MODEL_PASS_H_
#define OPTIMIZATION_MODEL_PASS_H_

#include <cstdint>
#include <functional>

#include "nn/forward.h"
#include "optimization/model.h"

namespace regard {

// Computes the loss of a few training examples, in training mode. If there are
// no training examples, evaluates the dev split and then the test split. Omits
// an evaluation if is_done() returns true before it. `forward` must use the
// parameters of `model`.
void RunModelOnce(Model<float>& model, uint64_t seed, Forward<float>& forward,
                  const std::function<bool()>& is_done);

}  // namespace regard

#endif  // OPTIMIZATION_MODEL_PASS_H_
