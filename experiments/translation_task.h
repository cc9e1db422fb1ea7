// Translation: phrasebook, corpus files, and sequences to reverse or copy.
#ifndef EXPERIMENTS_TRANSLATION_TASK_H_
#define EXPERIMENTS_TRANSLATION_TASK_H_

#include <memory>

#include "absl/status/statusor.h"
#include "attention/scorer_registry.h"
#include "experiments/experiment.pb.h"
#include "experiments/task.h"
#include "seq2seq/translation_model.h"
#include "seq2seq/vocabulary.h"

namespace regard {

// The sentences of a config's data, and the words of its training split.
struct TranslationCorpus {
  TranslationData sentences;
  Vocabulary source;
  Vocabulary target;
};

// `config` is valid, and has model.decoder. An error is about the corpus file.
absl::StatusOr<TranslationCorpus> LoadTranslationCorpus(
    const Experiment& config);

// How `config` wants its loss, and its seed.
TranslationOptions TranslationOptionsOf(const Experiment& config);

// `config` is valid, and has model.encoder and model.decoder. An error is about
// the corpus file.
absl::StatusOr<std::unique_ptr<Task>> MakeTranslationTask(
    const Experiment& config, const ScorerRegistry& scorers);

}  // namespace regard

#endif  // EXPERIMENTS_TRANSLATION_TASK_H_
