// What a task's model reaches: in training, and on data that are given later.
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
  // By prefixed name: "test/bleu", "test.news/bleu".
  std::map<std::string, double> metrics = {};
  // Those with metrics of examples, by the same names.
  std::vector<EvaluatedSet> sets = {};
};

// Adds a split. `forward`, of the task's model, has no gradients. `ranks`, null
// for one process alone, all call this, and share the work.
void EvaluateSplit(Task& task, Forward<float>& forward, Split split,
                   Ranks* ranks, Evaluation* evaluation);

// All splits, as at the end of training.
Evaluation EvaluateAll(Task& task, Forward<float>& forward);

}  // namespace regard

#endif  // EXPERIMENTS_TASKS_EVALUATION_H_
