// Sentences about images, written by captioners.
#ifndef EXPERIMENTS_TASKS_CAPTIONS_CAPTIONS_TASK_H_
#define EXPERIMENTS_TASKS_CAPTIONS_CAPTIONS_TASK_H_

#include "experiments/tasks/plugins.h"

namespace regard {

// Adds the task and its data source.
void RegisterCaptions(Plugins& plugins);

}  // namespace regard

#endif  // EXPERIMENTS_TASKS_CAPTIONS_CAPTIONS_TASK_H_
