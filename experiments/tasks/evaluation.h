// Evaluation of a task's model on its dev and test splits.
#ifndef EXPERIMENTS_TASKS_EVALUATION_H_
#define EXPERIMENTS_TASKS_EVALUATION_H_

#include <map>
#include <string>
#include <vector>

#include "experiments/tasks/task.h"
#include "nn/forward.h"
#include "optimization/evaluated_set.h"
#include "optimization/model.h"
#include "optimization/ranks/ranks.h"

namespace regard {

struct Evaluation {
  // Metrics by prefixed name, such as "test/bleu" or "test.news/bleu".
  std::map<std::string, double> metrics = {};
  // The sets that have metrics per example, with the same names.
  std::vector<EvaluatedSet> sets = {};
};

// Adds the metrics of a split. `forward` runs the task's model without
// gradients. If `ranks` is not null, all ranks must call this function; they
// share the work.
void EvaluateSplit(Task& task, Forward<float>& forward, Split split,
                   Ranks* ranks, Evaluation* evaluation);

// Evaluates all splits, as at the end of training.
Evaluation EvaluateAll(Task& task, Forward<float>& forward);

}  // namespace regard

#endif  // EXPERIMENTS_TASKS_EVALUATION_H_
