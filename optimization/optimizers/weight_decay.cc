#include "optimization/optimizers/weight_decay.h"

namespace regard {

bool IsDecayed(const ParameterInfo& parameter, DecayedParameters choice) {
  const ParameterRole role = parameter.options.role;
  const bool matrix =
      parameter.shape.rank() >= 2 && role != ParameterRole::kHeadBias;
  switch (choice) {
    case EXCEPT_NORMALIZATION:
      return role != ParameterRole::kNormalization;
    case MATRICES:
      return matrix;
    case MATRICES_EXCEPT_EMBEDDINGS:
      return matrix && role != ParameterRole::kEmbedding;
    case DECAYED_PARAMETERS_UNSPECIFIED:
    case ALL_PARAMETERS:
      break;
  }
  return true;
}

}  // namespace regard
