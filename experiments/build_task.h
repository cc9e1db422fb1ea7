// From a config to what it describes.
#ifndef EXPERIMENTS_BUILD_TASK_H_
#define EXPERIMENTS_BUILD_TASK_H_

#include <memory>

#include "absl/status/statusor.h"
#include "attention/scorer_registry.h"
#include "experiments/experiment.pb.h"
#include "experiments/task.h"
#include "nn/config_problems.h"

namespace regard {

// Everything that is wrong with `config`, short of its data files.
void ValidateExperiment(const Experiment& config, const ScorerRegistry& scorers,
                        ConfigProblems& problems);

// `config` is valid. An error is about data files, and says where in them.
absl::StatusOr<std::unique_ptr<Task>> BuildTask(const Experiment& config,
                                                const ScorerRegistry& scorers);

}  // namespace regard

#endif  // EXPERIMENTS_BUILD_TASK_H_
