// Resolves the name "dev/loss" in a config.
#ifndef EXPERIMENTS_TASKS_LOSS_METRIC_H_
#define EXPERIMENTS_TASKS_LOSS_METRIC_H_

#include "experiments/experiment.pb.h"
#include "experiments/tasks/plugins.h"
#include "options/config_problems.h"

namespace regard {

// Replaces "dev/loss" with the task's metric that is its loss, such as the mean
// squared error of a regression. Adds a note for each replacement.
void ReplaceLossMetric(const Plugins& plugins, Experiment& config,
                       ConfigProblems& problems);

}  // namespace regard

#endif  // EXPERIMENTS_TASKS_LOSS_METRIC_H_
