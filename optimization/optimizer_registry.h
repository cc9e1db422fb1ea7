// The registries of optimizers and schedules, from which an OptimizerConfig
// chooses.
//
// A plug-in is one file: a class with a constructor from its message, and one
// line of registration. For example:
//
//   template <typename T>
//   class SignSgd : public Optimizer<T> {
//    public:
//     using Options = SignSgdConfig;  // a message
//
//     SignSgd(const Options&, ParameterStore<T>& parameters)
//         : Optimizer<T>(parameters, {}) {}
//
//     void Apply(const ParameterRangeUpdate<T>& update) override {
//       const T rate = static_cast<T>(update.learning_rate);
//       for (int64_t i = 0; i < update.size; ++i) {
//         update.values[i] -= std::copysign(rate, update.gradient[i]);
//       }
//     }
//   };
//
//   REGARD_OPTIMIZER(SignSgd, "x - rate sign(g)")
//
//   class Halfway : public Schedule {
//    public:
//     using Options = HalfwayScheduleConfig;  // a message
//
//     Halfway(const Options&, const ScheduleContext& context)
//         : context_(context) {}
//
//     double LearningRate(int64_t update) const override {
//       const bool late = update > context_.total_updates / 2;
//       return context_.learning_rate * (late ? 0.1 : 1);
//     }
//
//    private:
//     const ScheduleContext context_;
//   };
//
//   REGARD_SCHEDULE(Halfway, "a tenth in the second half of the run")
#ifndef OPTIMIZATION_OPTIMIZER_REGISTRY_H_
#define OPTIMIZATION_OPTIMIZER_REGISTRY_H_

#include <memory>

#include "nn/parameters.h"
#include "optimization/optimizer.h"
#include "optimization/schedule.h"
#include "options/config_problems.h"
#include "options/option_registry.h"

namespace regard {

class OptimizerConfig;
class ScheduleConfig;

struct ScheduleInfo : PluginInfo<> {
  PluginFactory<Schedule, const ScheduleContext&> create;
};

class ScheduleRegistry : public PluginRegistry<ScheduleConfig, ScheduleInfo> {
 public:
  ScheduleRegistry();

  std::unique_ptr<Schedule> Create(const ScheduleConfig& config,
                                   const ScheduleContext& context) const;
};

#define REGARD_SCHEDULE(name, description) \
  REGARD_PLUGIN(ScheduleRegistry, name, description)

// Creates an optimizer for a finalized store, which must outlive it.
template <typename T>
using OptimizerFactory = PluginFactory<Optimizer<T>, ParameterStore<T>&>;

// The registry of optimizers. The description of each is its formula.
class OptimizerRegistry
    : public PluginRegistry<OptimizerConfig,
                            TemplatePluginInfo<OptimizerFactory>> {
 public:
  OptimizerRegistry();

  template <typename T>
  std::unique_ptr<Optimizer<T>> Create(const OptimizerConfig& config,
                                       ParameterStore<T>& parameters) const {
    return PluginRegistry::Create<T>(config, parameters);
  }
};

#define REGARD_OPTIMIZER(name, formula) \
  REGARD_PLUGIN(OptimizerRegistry, name, formula)

// Adds the problems of an optimizer's config. Later code may rely on a config
// without problems.
void ValidateOptimizer(const OptimizerConfig& config,
                       const OptimizerRegistry& optimizers,
                       const ScheduleRegistry& schedules,
                       ConfigProblems& problems);

}  // namespace regard

#endif  // OPTIMIZATION_OPTIMIZER_REGISTRY_H_
