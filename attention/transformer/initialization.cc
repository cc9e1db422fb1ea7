#include "attention/transformer/initialization.h"

#include <cmath>

namespace regard {

LinearOptions LinearInitialization(const TransformerInitialization& config,
                                   bool bias) {
  return {.bias = bias,
          .initialization = config.weights(),
          .standard_deviation = config.standard_deviation(),
          .zero_bias = config.zero_bias()};
}

LinearOptions BranchInitialization(const TransformerInitialization& config,
                                   bool bias, int64_t branches) {
  LinearOptions options = LinearInitialization(config, bias);
  if (config.scale_residual()) {
    options.standard_deviation /= std::sqrt(static_cast<double>(branches));
  }
  return options;
}

Initializer EmbeddingInitializer(const TransformerInitialization& config) {
  if (config.has_embedding_deviation()) {
    return Normal(config.embedding_deviation());
  }
  switch (config.weights()) {
    case NORMAL:
      return Normal(config.standard_deviation());
    case TRUNCATED_NORMAL:
      return TruncatedNormal(config.standard_deviation());
    default:
      return EmbeddingDefault();
  }
}

}  // namespace regard
