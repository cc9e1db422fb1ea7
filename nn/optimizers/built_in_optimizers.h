// Registers every optimizer of this repository.
#ifndef NN_OPTIMIZERS_BUILT_IN_OPTIMIZERS_H_
#define NN_OPTIMIZERS_BUILT_IN_OPTIMIZERS_H_

#include "nn/optimizer_registry.h"

namespace regard {

extern "C" void RegisterBuiltInOptimizers(OptimizerRegistry& optimizers);

}  // namespace regard

#endif  // NN_OPTIMIZERS_BUILT_IN_OPTIMIZERS_H_
