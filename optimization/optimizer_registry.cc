#include "optimization/optimizer_registry.h"

#include <memory>

#include "optimization/optimizer.pb.h"
#include "optimization/optimizers/adam.pb.h"
#include "optimization/schedules/constant.pb.h"

namespace regard {

ScheduleRegistry::ScheduleRegistry()
    : PluginRegistry("schedule", "constant {}",
                     &ConstantScheduleConfig::default_instance()) {}

std::unique_ptr<Schedule> ScheduleRegistry::Create(
    const ScheduleConfig& config, const ScheduleContext& context) const {
  return PluginRegistry::Create(config, context);
}

OptimizerRegistry::OptimizerRegistry()
    : PluginRegistry("optimizer", "adam {}", &AdamConfig::default_instance()) {}

void ValidateOptimizer(const OptimizerConfig& config,
                       const OptimizerRegistry& optimizers,
                       const ScheduleRegistry& schedules,
                       ConfigProblems& problems) {
  problems.CheckOwnRanges(config);
  if (config.learning_rate() == 0) {
    problems.Note("learning_rate", "is 0: training changes no parameter");
  }
  optimizers.ValidateChoice(config, problems);
  const ConfigProblems::Scope scope(problems, "schedule");
  schedules.ValidateChoice(config.schedule(), problems);
}

}  // namespace regard
