// The fields `precision` and `keep_float32` of a config.
#ifndef EXPERIMENTS_TASKS_CONFIG_PRECISION_H_
#define EXPERIMENTS_TASKS_CONFIG_PRECISION_H_

#include "experiments/experiment.pb.h"
#include "optimization/model.h"
#include "options/config_problems.h"

namespace regard {

// Makes `model` compute products in the precision that the config selects.
// BuildTask() calls this function.
void SetPrecision(const Experiment& config, Model<float>& model);

// Adds an error for each pattern of `keep_float32` that does not match any
// scope with products. Does nothing before the parameters of `model` are
// finalized.
void ValidateFullPrecision(Model<float>& model, const Experiment& config,
                           ConfigProblems& problems);

}  // namespace regard

#endif  // EXPERIMENTS_TASKS_CONFIG_PRECISION_H_
