// The summary that `--check` prints for a valid config.
#ifndef EXPERIMENTS_TRAINING_CHECK_REPORT_H_
#define EXPERIMENTS_TRAINING_CHECK_REPORT_H_

#include <string>

#include "experiments/tasks/experiment_config.h"
#include "experiments/tasks/task.h"

namespace regard {

// Returns a summary: the model, its parameters by module, the sizes of the
// data, the number of optimizer steps, and the baseline. It ends with the
// number of seeds that a significant difference requires. `baseline` is the
// task of loaded.baseline, or null if there is none.
std::string ConfigCheckReport(const LoadedConfig& loaded, Task& task,
                              Task* baseline);

}  // namespace regard

#endif  // EXPERIMENTS_TRAINING_CHECK_REPORT_H_
