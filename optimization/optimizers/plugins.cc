// The optimizers of this directory as plug-ins, which convert the message of a
// config to options.
#include <type_traits>

#include "nn/parameters.h"
#include "optimization/optimizer_registry.h"
#include "optimization/optimizers/adam.h"
#include "optimization/optimizers/adam.pb.h"
#include "optimization/optimizers/sgd.h"
#include "optimization/optimizers/sgd.pb.h"
#include "optimization/optimizers/weight_decay.h"
#include "optimization/optimizers/weight_decay.pb.h"
#include "options/config_problems.h"

namespace regard::plugins {

Decayed DecayedOf(DecayedParameters choice) {
  switch (choice) {
    case EXCEPT_NORMALIZATION:
      return Decayed::kExceptNormalization;
    case MATRICES:
      return Decayed::kMatrices;
    case MATRICES_EXCEPT_EMBEDDINGS:
      return Decayed::kMatricesExceptEmbeddings;
    case DECAYED_PARAMETERS_UNSPECIFIED:
    case ALL_PARAMETERS:
      break;
  }
  return Decayed::kAllParameters;
}

// `config` must have the fields weight_decay and decayed_parameters.
template <typename Config>
void ValidateWeightDecay(const Config& config, ConfigProblems& problems) {
  if (config.weight_decay() == 0 &&
      config.decayed_parameters() != Config().decayed_parameters()) {
    problems.Note("decayed_parameters", "has no effect without weight_decay");
  }
}

// AdamConfig and AdamWConfig have the same fields.
template <typename T, typename Config>
class AdamOf : public regard::Adam<T> {
 public:
  using Options = Config;

  AdamOf(const Config& config, ParameterStore<T>& parameters)
      : regard::Adam<T>({.beta1 = config.beta1(),
                         .beta2 = config.beta2(),
                         .epsilon = config.epsilon(),
                         .weight_decay = config.weight_decay(),
                         .decoupled = std::is_same_v<Config, AdamWConfig>,
                         .decayed = DecayedOf(config.decayed_parameters())},
                        parameters) {}

  static void Validate(const Config& config, ConfigProblems& problems) {
    problems.CheckRanges(config);
    ValidateWeightDecay(config, problems);
  }
};

template <typename T>
using Adam = AdamOf<T, AdamConfig>;
template <typename T>
using AdamW = AdamOf<T, AdamWConfig>;

template <typename T>
class Sgd : public regard::Sgd<T> {
 public:
  using Options = SgdConfig;

  Sgd(const Options& config, ParameterStore<T>& parameters)
      : regard::Sgd<T>({.momentum = config.momentum(),
                        .nesterov = config.nesterov(),
                        .weight_decay = config.weight_decay(),
                        .decayed = DecayedOf(config.decayed_parameters())},
                       parameters) {}

  static void Validate(const Options& config, ConfigProblems& problems) {
    problems.CheckRanges(config);
    if (config.nesterov() && config.momentum() == 0) {
      problems.Note("nesterov", "has no effect without momentum");
    }
    ValidateWeightDecay(config, problems);
  }
};

REGARD_OPTIMIZER(Adam, "x - rate m / (sqrt(v) + epsilon)")
REGARD_OPTIMIZER(AdamW, "(1 - rate decay) x - rate m / (sqrt(v) + epsilon)")
REGARD_OPTIMIZER(Sgd, "x - rate v, v = momentum v + g")

}  // namespace regard::plugins
