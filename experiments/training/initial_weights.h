// The weights of another run, which training begins with
// (training.initial_weights).
#ifndef EXPERIMENTS_TRAINING_INITIAL_WEIGHTS_H_
#define EXPERIMENTS_TRAINING_INITIAL_WEIGHTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "experiments/experiment.pb.h"
#include "experiments/tasks/plugins.h"
#include "experiments/tasks/task.h"
#include "nn/config_problems.h"

namespace regard {

// Gives the task's model the weights that `training` names, if it names any.
// What is wrong with the run, or does not fit this one, is added to `problems`.
// A mean is computed in double precision, from the earliest checkpoint to the
// last. Returns notes for the user: the damaged checkpoints that were passed
// over; or the failure of the machine to read the run.
absl::StatusOr<std::vector<std::string>> LoadInitialWeights(
    const Training& training, const Plugins& plugins, Task& task,
    ConfigProblems& problems);

}  // namespace regard

#endif  // EXPERIMENTS_TRAINING_INITIAL_WEIGHTS_H_
