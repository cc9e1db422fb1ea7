// Builds the task of a config and checks that it matches its data, on all ranks
// that train the task.
#ifndef EXPERIMENTS_TRAINING_PREPARED_TASK_H_
#define EXPERIMENTS_TRAINING_PREPARED_TASK_H_

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

struct PreparedTask {
  std::unique_ptr<Task> task;  // the model has its initial weights
  // Notes about the config, the data and the initial weights.
  std::vector<std::string> notes = {};
};

// Returns the SHA-256 of each data file, by the config field that names it.
// Includes the initial weights if they come from another run.
std::map<std::string, std::string> DataDigests(const Training& training,
                                               Task& task);

// Builds the task and loads its initial weights. `run_folder` is the folder of
// a run that has begun, or empty. If `ranks` is not null, all ranks must call
// this function, and all get the same error. It is an error if one rank fails,
// or if the config has too few shards. The configs, data, initial weights and
// programs of the ranks must be equal.
absl::StatusOr<PreparedTask> PrepareTask(const LoadedConfig& loaded,
                                         const std::string& run_folder,
                                         const Plugins& plugins, Ranks* ranks);

}  // namespace regard

#endif  // EXPERIMENTS_TRAINING_PREPARED_TASK_H_
