// The optimizers that a program knows, by the message of their options.
#ifndef NN_OPTIMIZER_REGISTRY_H_
#define NN_OPTIMIZER_REGISTRY_H_

#include <memory>

#include "absl/strings/string_view.h"
#include "nn/config_problems.h"
#include "nn/optimizer.h"
#include "nn/optimizer.pb.h"
#include "nn/option_registry.h"
#include "nn/parameters.h"

namespace regard {

// The description is the rule's formula.
struct OptimizerInfo : OptionInfo<> {
  template <typename T>
  using Factory = OptionFactory<Optimizer<T>, ParameterStore<T>&>;

  Factory<float> create_float;
  Factory<double> create_double;
};

class OptimizerRegistry : public OptionRegistry<OptimizerInfo> {
 public:
  OptimizerRegistry()
      : OptionRegistry(
            OptimizerConfig::descriptor()->FindOneofByName("optimizer"),
            "adam {}", &AdamConfig::default_instance()) {}

  // Adds Rule<T>, whose Rule<T>::Options is its options message.
  template <template <typename> class Rule>
  void Add(absl::string_view formula) {
    Insert(
        {DescribePlugin<Rule<float>>(formula),
         &CreatePlugin<Rule<float>, Optimizer<float>, ParameterStore<float>&>,
         &CreatePlugin<Rule<double>, Optimizer<double>,
                       ParameterStore<double>&>});
  }

  // The optimizer of a valid config. `parameters` is finalized and outlives it.
  template <typename T>
  std::unique_ptr<Optimizer<T>> Create(const OptimizerConfig& config,
                                       ParameterStore<T>& parameters) const {
    return CreateOf<T>(config, parameters);
  }
};

// Defines `void RegisterNAME(regard::OptimizerRegistry&)` for the class
// template NAME, in any namespace; regard_binary(optimizers = [...]) finds it
// by the name of its target.
#define REGARD_OPTIMIZER(name, formula)                          \
  extern "C" void Register##name(::regard::OptimizerRegistry&);  \
  void Register##name(::regard::OptimizerRegistry& optimizers) { \
    optimizers.Add<name>(formula);                               \
  }

}  // namespace regard

#endif  // NN_OPTIMIZER_REGISTRY_H_
