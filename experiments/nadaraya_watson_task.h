// Regression by attention on the textbooks' curve.
#ifndef EXPERIMENTS_NADARAYA_WATSON_TASK_H_
#define EXPERIMENTS_NADARAYA_WATSON_TASK_H_

#include <memory>

#include "attention/scorer_registry.h"
#include "experiments/experiment.pb.h"
#include "experiments/task.h"

namespace regard {

// `config` is valid, and has data.nadaraya_watson and model.nadaraya_watson.
std::unique_ptr<Task> MakeNadarayaWatsonTask(const Experiment& config,
                                             const ScorerRegistry& scorers);

}  // namespace regard

#endif  // EXPERIMENTS_NADARAYA_WATSON_TASK_H_
