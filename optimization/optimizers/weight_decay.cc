#include "optimization/optimizers/weight_decay.h"

namespace regard {

bool IsDecayed(const ParameterInfo& parameter, Decayed choice) {
  const ParameterRole role = parameter.options.role;
  const bool matrix =
      parameter.shape.rank() >= 2 && role != ParameterRole::kHeadBias;
  switch (choice) {
    case Decayed::kExceptNormalization:
      return role != ParameterRole::kNormalization;
    case Decayed::kMatrices:
      return matrix;
    case Decayed::kMatricesExceptEmbeddings:
      return matrix && role != ParameterRole::kEmbedding;
    case Decayed::kAllParameters:
      break;
  }
  return true;
}

}  // namespace regard
