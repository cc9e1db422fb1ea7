// The task of a config that fits its data, on all ranks that are to train it.
#ifndef EXPERIMENTS_TRAINING_FITTING_TASK_H_
#define EXPERIMENTS_TRAINING_FITTING_TASK_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "experiments/tasks/experiment_config.h"
#include "experiments/tasks/plugins.h"
#include "experiments/tasks/task.h"
#include "optimization/ranks/ranks.h"

namespace regard {

struct FittingTask {
  std::unique_ptr<Task> task;  // with the weights that training begins with
  // Of the config, the data and the first weights.
  std::vector<std::string> notes = {};
};

// `run_folder` is that of a run
// that has begun, or empty. Where there are `ranks`, all call this, and get the
// same error if one of them fails, if their configs, data, first weights or
// programs differ, or if the config has too few shards for them.
absl::StatusOr<FittingTask> BuildFittingTask(const LoadedConfig& loaded,
                                             const std::string& run_folder,
                                             const Plugins& plugins,
                                             Ranks* ranks);

}  // namespace regard

#endif  // EXPERIMENTS_TRAINING_FITTING_TASK_H_
