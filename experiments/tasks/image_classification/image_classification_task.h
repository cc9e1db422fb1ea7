// Classes of images, predicted by Vision Transformers.
#ifndef EXPERIMENTS_TASKS_IMAGE_CLASSIFICATION_IMAGE_CLASSIFICATION_TASK_H_
#define EXPERIMENTS_TASKS_IMAGE_CLASSIFICATION_IMAGE_CLASSIFICATION_TASK_H_

#include "experiments/tasks/plugins.h"

namespace regard {

// Adds the task and its data sources.
void RegisterImageClassification(Plugins& plugins);

}  // namespace regard

#endif  // EXPERIMENTS_TASKS_IMAGE_CLASSIFICATION_IMAGE_CLASSIFICATION_TASK_H_
