// The task of a config that fits its data, on all ranks that are to train it.
#ifndef EXPERIMENTS_TRAINING_FITTING_TASK_H_
#define EXPERIMENTS_TRAINING_FITTING_TASK_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "experiments/tasks/experiment_config.h"
#include "experiments/tasks/plugins.h"
#include "experiments/tasks/task.h"
#include "optimization/ranks/ranks.h"

namespace regard {

class Training;

struct FittingTask {
  std::unique_ptr<Task> task;  // with the weights that training begins with
  // Of the config, the data and the first weights.
  std::vector<std::string> notes = {};
};

// SHA-256 of the data by the field that names them, and of the weights that
// training begins with if they are from another run.
std::map<std::string, std::string> DataDigests(const Training& training,
                                               Task& task);

// `run_folder` is the folder of a run that has begun, or empty. Where there are
// `ranks`, all call this, and get the same error if one of them fails, if their
// configs, data, first weights or programs differ, or if the config has too few
// shards for them.
absl::StatusOr<FittingTask> BuildFittingTask(const LoadedConfig& loaded,
                                             const std::string& run_folder,
                                             const Plugins& plugins,
                                             Ranks* ranks);

}  // namespace regard

#endif  // EXPERIMENTS_TRAINING_FITTING_TASK_H_
