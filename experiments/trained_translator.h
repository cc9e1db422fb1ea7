// The translator that a run folder holds, ready for use. Reads the folder
// alone: neither the corpus nor the lock of a run that may still go on.
#ifndef EXPERIMENTS_TRAINED_TRANSLATOR_H_
#define EXPERIMENTS_TRAINED_TRANSLATOR_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "attention/scorer_registry.h"
#include "experiments/experiment.pb.h"
#include "seq2seq/translator.h"

namespace regard {

struct TrainedTranslator {
  std::string path;  // of the run folder
  Experiment config;
  std::unique_ptr<Translator> translator;
  int64_t step = 0;                // of the weights
  std::vector<std::string> notes;  // damaged checkpoints that were passed over
};

// From the resolved config, the vocabularies and the newest whole checkpoint of
// `run`, a path as the user gave it. The error is complete to print; it is
// InvalidArgument or what reading a file gave.
absl::StatusOr<TrainedTranslator> LoadTranslator(absl::string_view run,
                                                 const ScorerRegistry& scorers);

// The words of a sentence that somebody typed: prepared as a corpus is, without
// control characters, U+FFFD for bytes that are not UTF-8. A word that the
// vocabulary lacks is parted behind an apostrophe where it knows the first
// part, as French elides: `j'aime` becomes `j' aime`.
std::vector<std::string> TypedWords(absl::string_view text,
                                    const Vocabulary& vocabulary);

}  // namespace regard

#endif  // EXPERIMENTS_TRAINED_TRANSLATOR_H_
