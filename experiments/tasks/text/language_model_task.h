// Language models of a text.
#ifndef EXPERIMENTS_TASKS_TEXT_LANGUAGE_MODEL_TASK_H_
#define EXPERIMENTS_TASKS_TEXT_LANGUAGE_MODEL_TASK_H_

#include "experiments/tasks/plugins.h"

namespace regard {

// Adds the task and its data sources.
void RegisterText(Plugins& plugins);

}  // namespace regard

#endif  // EXPERIMENTS_TASKS_TEXT_LANGUAGE_MODEL_TASK_H_
