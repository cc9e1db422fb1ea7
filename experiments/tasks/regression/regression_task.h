// Regression by attention on the textbooks' curve.
#ifndef EXPERIMENTS_TASKS_REGRESSION_REGRESSION_TASK_H_
#define EXPERIMENTS_TASKS_REGRESSION_REGRESSION_TASK_H_

#include "experiments/tasks/plugins.h"

namespace regard {

// Adds the task and its data source.
void RegisterRegression(Plugins& plugins);

}  // namespace regard

#endif  // EXPERIMENTS_TASKS_REGRESSION_REGRESSION_TASK_H_
