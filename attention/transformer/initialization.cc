#include "attention/transformer/initialization.h"

#include <cmath>

#include "attention/transformer/transformer.pb.h"

namespace regard {

namespace {

LinearOptions OptionsOf(const TransformerInitialization& config, bool bias,
                        double deviation) {
  LinearOptions options = {.bias = bias, .zero_bias = config.zero_bias()};
  switch (config.weights()) {
    case XAVIER_UNIFORM:
      options.initialization = XavierUniform;
      break;
    case NORMAL:
      options.initialization = [=](int64_t, int64_t) {
        return Normal(deviation);
      };
      break;
    case TRUNCATED_NORMAL:
      options.initialization = [=](int64_t, int64_t) {
        return TruncatedNormal(deviation);
      };
      break;
    case PYTORCH:
    case INITIALIZATION_UNSPECIFIED:
      break;
  }
  return options;
}

}  // namespace

LinearOptions LinearInitialization(const TransformerInitialization& config,
                                   bool bias) {
  return OptionsOf(config, bias, config.standard_deviation());
}

LinearOptions BranchInitialization(const TransformerInitialization& config,
                                   bool bias, int64_t branches) {
  const double root =
      config.scale_residual() ? std::sqrt(static_cast<double>(branches)) : 1;
  return OptionsOf(config, bias, config.standard_deviation() / root);
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
