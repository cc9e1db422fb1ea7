// Sentence pairs of text files, as words or as subwords.
#ifndef EXPERIMENTS_TASKS_TRANSLATION_PAIRS_SOURCE_H_
#define EXPERIMENTS_TASKS_TRANSLATION_PAIRS_SOURCE_H_

#include "experiments/tasks/plugins.h"

namespace regard {

// Adds pairs.
void AddPairsSource(DataSourceRegistry& sources);

}  // namespace regard

#endif  // EXPERIMENTS_TASKS_TRANSLATION_PAIRS_SOURCE_H_
