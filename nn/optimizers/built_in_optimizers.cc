#include "nn/optimizers/built_in_optimizers.h"

namespace regard {

// Each is defined by REGARD_OPTIMIZER in a file of this folder.
extern "C" void RegisterAdam(OptimizerRegistry& optimizers);
extern "C" void RegisterAdamW(OptimizerRegistry& optimizers);
extern "C" void RegisterSgd(OptimizerRegistry& optimizers);

void RegisterBuiltInOptimizers(OptimizerRegistry& optimizers) {
  RegisterAdam(optimizers);
  RegisterAdamW(optimizers);
  RegisterSgd(optimizers);
}

}  // namespace regard
