// BERT, trained to predict masked words of a text.
#ifndef EXPERIMENTS_TASKS_MASKED_WORDS_MASKED_WORDS_TASK_H_
#define EXPERIMENTS_TASKS_MASKED_WORDS_MASKED_WORDS_TASK_H_

#include "experiments/tasks/plugins.h"

namespace regard {

// Adds the task; its texts are those of experiments/tasks/text.
void RegisterMaskedWords(Plugins& plugins);

}  // namespace regard

#endif  // EXPERIMENTS_TASKS_MASKED_WORDS_MASKED_WORDS_TASK_H_
