// Classes of texts by BERT.
#ifndef EXPERIMENTS_TASKS_TEXT_CLASSIFICATION_TEXT_CLASSIFICATION_TASK_H_
#define EXPERIMENTS_TASKS_TEXT_CLASSIFICATION_TEXT_CLASSIFICATION_TASK_H_

#include "experiments/tasks/plugins.h"

namespace regard {

// Adds the task and its data sources.
void RegisterTextClassification(Plugins& plugins);

}  // namespace regard

#endif  // EXPERIMENTS_TASKS_TEXT_CLASSIFICATION_TEXT_CLASSIFICATION_TASK_H_
