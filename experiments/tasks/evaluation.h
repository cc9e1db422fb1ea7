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

struct EvaluationResults {
  // Metrics by name with the split as prefix, such as "test/bleu" or
  // "test.news/bleu".
  std::map<std::string, double> metrics = {};
  // The evaluated sets that have values per example. The names of their metrics
  // also have the split as prefix.
  std::vector<EvaluatedSet> sets = {};
};

// Adds the metrics of a split. `forward` runs the task's model without
// gradients. If `ranks` is not null, the ranks share the work, and each of them
// must call this function.
void EvaluateSplit(Task& task, Forward<float>& forward, Split split,
                   Ranks* ranks, EvaluationResults* evaluation);

// Evaluates all splits, as at the end of training.
EvaluationResults EvaluateAll(Task& task, Forward<float>& forward);

}  // namespace regard

#endif  // EXPERIMENTS_TASKS_EVALUATION_H_
