#include "nn/optimizer_validation.h"

namespace regard {

void ValidateOptimizer(const OptimizerConfig& config,
                       const OptimizerRegistry& optimizers,
                       const ScheduleRegistry& schedules,
                       ConfigProblems& problems) {
  problems.RequireInRange("learning_rate", config.learning_rate(), 1e-30, 1e6);
  problems.RequireInRange("clip_norm", config.clip_norm(), 0, 1e30);
  problems.RequireInRange("accumulate_batches", config.accumulate_batches(), 1,
                          1024);
  optimizers.ValidateChoice(config, problems);
  const ConfigProblems::Scope scope(problems, "schedule");
  schedules.ValidateChoice(config.schedule(), problems);
}

}  // namespace regard
