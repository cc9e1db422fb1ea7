#include "optimization/optimizer_registry.h"

namespace regard {

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
