// Selects the parameters to which weight decay applies.
#ifndef OPTIMIZATION_OPTIMIZERS_WEIGHT_DECAY_H_
#define OPTIMIZATION_OPTIMIZERS_WEIGHT_DECAY_H_

#include "nn/parameters.h"

namespace regard {

// The choices of DecayedParameters in weight_decay.proto.
enum class Decayed {
  kAllParameters,
  kExceptNormalization,
  kMatrices,
  kMatricesExceptEmbeddings,
};

bool IsDecayed(const ParameterInfo& parameter, Decayed choice);

}  // namespace regard

#endif  // OPTIMIZATION_OPTIMIZERS_WEIGHT_DECAY_H_
