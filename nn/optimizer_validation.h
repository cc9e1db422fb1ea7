// What an optimiser's config must satisfy; past it, code trusts the config.
#ifndef NN_OPTIMIZER_VALIDATION_H_
#define NN_OPTIMIZER_VALIDATION_H_

#include "nn/config_problems.h"
#include "nn/optimizer.pb.h"

namespace regard {

void Validate(const OptimizerConfig& config, ConfigProblems& problems);
void Validate(const ScheduleConfig& config, ConfigProblems& problems);

}  // namespace regard

#endif  // NN_OPTIMIZER_VALIDATION_H_
