// What `--check` prints of a config without problems.
#ifndef EXPERIMENTS_TRAINING_CHECK_REPORT_H_
#define EXPERIMENTS_TRAINING_CHECK_REPORT_H_

#include <string>

#include "experiments/tasks/experiment_config.h"
#include "experiments/tasks/task.h"

namespace regard {

// The model and its parameters by module, the sizes of the data, the updates,
// the baseline, and how many seeds a significant difference needs. `baseline`
// is the task of loaded.baseline, null where there is none.
std::string CheckReport(const LoadedConfig& loaded, Task& task, Task* baseline);

}  // namespace regard

#endif  // EXPERIMENTS_TRAINING_CHECK_REPORT_H_
