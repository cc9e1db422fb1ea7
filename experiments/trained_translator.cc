#include "experiments/trained_translator.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "experiments/config/config_file.h"
#include "experiments/data/corpus.h"
#include "experiments/read_experiment.h"
#include "experiments/report/printable_text.h"
#include "experiments/run/checkpoint.h"
#include "experiments/run/file.h"
#include "experiments/weights.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

constexpr int64_t kMostTextBytes = int64_t{1} << 26;

// The same status with a message that is complete to print.
absl::Status Complete(const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat("error: ", status.message()));
}

absl::StatusOr<Vocabulary> ReadVocabulary(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadFile(path, kMostTextBytes);
  if (!text.ok()) return Complete(text.status());
  absl::StatusOr<Vocabulary> vocabulary = Vocabulary::FromText(*text, path);
  if (!vocabulary.ok()) return Complete(vocabulary.status());
  return vocabulary;
}

absl::Status ReadResolvedConfig(const std::string& path,
                                const ScorerRegistry& scorers,
                                Experiment* config) {
  const absl::StatusOr<std::string> text = ReadFile(path, kMostTextBytes);
  if (!text.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("error: no run there: ", text.status().message()));
  }
  return ReadExperiment({path, *text}, {}, scorers, config).status();
}

void SplitElided(std::string word, const Vocabulary& vocabulary,
                 std::vector<std::string>* words) {
  while (!vocabulary.Contains(word)) {
    const size_t apostrophe = word.find('\'');
    if (apostrophe == std::string::npos || apostrophe + 1 == word.size()) break;
    std::string first = word.substr(0, apostrophe + 1);
    if (!vocabulary.Contains(first)) break;
    words->push_back(std::move(first));
    word.erase(0, apostrophe + 1);
  }
  words->push_back(std::move(word));
}

}  // namespace

absl::StatusOr<TrainedTranslator> LoadTranslator(
    absl::string_view run, const ScorerRegistry& scorers) {
  if (run.empty()) {
    return absl::InvalidArgumentError(
        "error: --run=DIR must name the folder of a run; "
        "//experiments:train makes one");
  }
  TrainedTranslator trained;
  trained.path = ResolveUserPath(run);
  const std::string folder = absl::StrCat(trained.path, "/");
  REGARD_RETURN_IF_ERROR(ReadResolvedConfig(folder + "resolved.textproto",
                                            scorers, &trained.config));
  const ModelConfig& model = trained.config.model();
  if (!model.has_decoder()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "error: ", trained.path, ": this run's model does not translate"));
  }
  REGARD_ASSIGN_OR_RETURN(Vocabulary source,
                          ReadVocabulary(folder + "source_vocabulary.txt"));
  REGARD_ASSIGN_OR_RETURN(Vocabulary target,
                          ReadVocabulary(folder + "target_vocabulary.txt"));
  absl::StatusOr<LatestCheckpoint> latest = FindLatestCheckpoint(trained.path);
  if (!latest.ok()) return Complete(latest.status());
  trained.notes = std::move(latest->notes);
  if (!latest->checkpoint.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("error: ", trained.path, " has no whole checkpoint"));
  }
  trained.step = latest->checkpoint->step;
  trained.translator = std::make_unique<Translator>(
      model.encoder(), model.decoder(), model.attention(), scorers,
      std::move(source), std::move(target),
      trained.config.data().pairs().num_steps(), trained.config.seed());
  const absl::Status loaded = LoadWeights(latest->checkpoint->WeightsPath(),
                                          trained.translator->parameters());
  if (!loaded.ok()) return Complete(loaded);
  return trained;
}

std::vector<std::string> TypedWords(absl::string_view text,
                                    const Vocabulary& vocabulary) {
  std::vector<std::string> words;
  const std::string prepared =
      absl::StrReplaceAll(PrepareText(PrintableText(text)), {{"\u2019", "'"}});
  for (std::string& word : SplitTokens(prepared)) {
    SplitElided(std::move(word), vocabulary, &words);
  }
  return words;
}

}  // namespace regard
