// Translation by a recurrent decoder or a Transformer: phrasebook, corpus
// files, and sequences to reverse or copy.
#ifndef EXPERIMENTS_TASKS_TRANSLATION_TRANSLATION_TASK_H_
#define EXPERIMENTS_TASKS_TRANSLATION_TRANSLATION_TASK_H_

#include "experiments/tasks/plugins.h"

namespace regard {

// Adds the task and its data sources.
void RegisterTranslation(Plugins& plugins);

}  // namespace regard

#endif  // EXPERIMENTS_TASKS_TRANSLATION_TRANSLATION_TASK_H_
