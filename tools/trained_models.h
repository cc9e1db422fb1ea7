// The models that run folders hold, ready for use. Reads a folder alone:
// neither the corpus nor the lock of a run that may still go on.
#ifndef TOOLS_TRAINED_MODELS_H_
#define TOOLS_TRAINED_MODELS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "experiments/tasks/plugins.h"
#include "experiments/tasks/trained_run.h"
#include "language/language_model.h"
#include "seq2seq/translator.h"

namespace regard {

struct TrainedTranslator : TrainedRun {
  std::unique_ptr<Translator> translator;
};

struct TrainedLanguageModel : TrainedRun {
  std::unique_ptr<LanguageModel> model;
};

// From the resolved config, the vocabularies and the newest whole checkpoint of
// `run`, a path as the user gave it. The error is complete to print; it is
// InvalidArgument, also for a run of another task, or what reading a file gave.
absl::StatusOr<TrainedTranslator> LoadTranslator(absl::string_view run,
                                                 const Plugins& plugins);
absl::StatusOr<TrainedLanguageModel> LoadLanguageModel(absl::string_view run,
                                                       const Plugins& plugins);

// The tokens of a typed sentence: those of the tokenizer, else TypedWords().
std::vector<std::string> TypedSource(absl::string_view text,
                                     const Translator& translator);
std::vector<std::string> TypedTarget(absl::string_view text,
                                     const Translator& translator);

// The words of a typed sentence: prepared as a corpus is, without
// control characters, U+FFFD for bytes that are not UTF-8. A word that the
// vocabulary lacks is parted behind an apostrophe where it knows the first
// part, as French elides: `j'aime` becomes `j' aime`.
std::vector<std::string> TypedWords(absl::string_view text,
                                    const Vocabulary& vocabulary);

}  // namespace regard

#endif  // TOOLS_TRAINED_MODELS_H_
