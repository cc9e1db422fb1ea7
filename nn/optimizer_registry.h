// The optimizers that a program knows, by the message of their options.
#ifndef NN_OPTIMIZER_REGISTRY_H_
#define NN_OPTIMIZER_REGISTRY_H_

#include <memory>

#include "nn/optimizer.h"
#include "nn/optimizer.pb.h"
#include "nn/option_registry.h"
#include "nn/parameters.h"

namespace regard {

// Makes an optimizer of a store that is finalized and outlives it.
template <typename T>
using OptimizerFactory = OptionFactory<Optimizer<T>, ParameterStore<T>&>;

// The description is the rule's formula.
class OptimizerRegistry
    : public PluginRegistry<OptimizerConfig, NumericInfo<OptimizerFactory>> {
 public:
  OptimizerRegistry()
      : PluginRegistry("optimizer", "adam {}",
                       &AdamConfig::default_instance()) {}

  template <typename T>
  std::unique_ptr<Optimizer<T>> Create(const OptimizerConfig& config,
                                       ParameterStore<T>& parameters) const {
    return PluginRegistry::Create<T>(config, parameters);
  }
};

#define REGARD_OPTIMIZER(name, formula) \
  REGARD_PLUGIN(OptimizerRegistry, name, formula)

}  // namespace regard

#endif  // NN_OPTIMIZER_REGISTRY_H_
