// Translation: phrasebook, corpus files, and sequences to reverse or copy.
#ifndef EXPERIMENTS_TRANSLATION_TASK_H_
#define EXPERIMENTS_TRANSLATION_TASK_H_

#include <memory>

#include "absl/status/statusor.h"
#include "attention/scorer_registry.h"
#include "experiments/experiment.pb.h"
#include "experiments/task.h"

namespace regard {

// `config` is valid, and has model.encoder and model.decoder. An error is about
// the corpus file.
absl::StatusOr<std::unique_ptr<Task>> MakeTranslationTask(
    const Experiment& config, const ScorerRegistry& scorers);

}  // namespace regard

#endif  // EXPERIMENTS_TRANSLATION_TASK_H_
