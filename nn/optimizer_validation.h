// What an optimizer's config must satisfy; past it, code trusts the config.
#ifndef NN_OPTIMIZER_VALIDATION_H_
#define NN_OPTIMIZER_VALIDATION_H_

#include "nn/config_problems.h"
#include "nn/optimizer.pb.h"
#include "nn/optimizer_registry.h"
#include "nn/schedule_registry.h"

namespace regard {

void ValidateOptimizer(const OptimizerConfig& config,
                       const OptimizerRegistry& optimizers,
                       const ScheduleRegistry& schedules,
                       ConfigProblems& problems);

}  // namespace regard

#endif  // NN_OPTIMIZER_VALIDATION_H_
