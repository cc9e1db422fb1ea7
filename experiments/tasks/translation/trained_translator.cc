#include "experiments/tasks/translation/trained_translator.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "experiments/report/printable_text.h"
#include "experiments/run/checkpoint.h"
#include "experiments/run/file.h"
#include "experiments/run/run_description.h"
#include "experiments/run/weights.h"
#include "experiments/tasks/experiment_config.h"
#include "experiments/tasks/translation/corpus.h"
#include "experiments/tasks/translation/sentence_source.h"
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

EncoderDecoderConfig EncoderDecoderOf(const ModelConfig& model) {
  EncoderDecoderConfig config;
  if (model.has_encoder()) *config.mutable_encoder() = model.encoder();
  if (model.has_decoder()) *config.mutable_decoder() = model.decoder();
  if (model.has_attention()) *config.mutable_attention() = model.attention();
  if (model.has_transformer()) {
    *config.mutable_transformer() = model.transformer();
  }
  if (model.has_transformer_encoder()) {
    *config.mutable_transformer_encoder() = model.transformer_encoder();
  }
  if (model.has_transformer_decoder()) {
    *config.mutable_transformer_decoder() = model.transformer_decoder();
  }
  return config;
}

absl::StatusOr<TrainedTranslator> LoadTranslator(absl::string_view run,
                                                 const Plugins& plugins) {
  if (run.empty()) {
    return absl::InvalidArgumentError(
        "error: --run=DIR must name the folder of a run; "
        "//experiments:train makes one");
  }
  TrainedTranslator trained;
  trained.path = ResolveUserPath(run);
  const std::string folder = absl::StrCat(trained.path, "/");
  REGARD_RETURN_IF_ERROR(ReadRunDescription(trained.path).status());
  REGARD_ASSIGN_OR_RETURN(
      const std::string resolved,
      ReadFile(folder + "resolved.textproto", kMostTextBytes));
  REGARD_ASSIGN_OR_RETURN(
      LoadedConfig stored,
      LoadConfig({folder + "resolved.textproto", resolved}, {}, plugins));
  trained.config = std::move(stored.config);
  const std::unique_ptr<SentenceSource> source_of_data =
      SentenceSourceOf(trained.config, plugins);
  const ModelConfig& model = trained.config.model();
  if (source_of_data == nullptr ||
      (!model.has_decoder() && !model.has_transformer())) {
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
      EncoderDecoderOf(model), plugins.scorers, std::move(source),
      std::move(target), source_of_data->num_steps(), trained.config.seed());
  const absl::Status loaded = LoadWeights(latest->checkpoint->WeightsPath(),
                                          trained.translator->parameters());
  if (!loaded.ok()) return Complete(loaded);
  return trained;
}

std::vector<AlignmentLink> GoldAlignment(const TrainedTranslator& trained,
                                         const std::vector<std::string>& source,
                                         const std::vector<std::string>& target,
                                         const Plugins& plugins) {
  const Experiment& config = trained.config;
  return SentenceSourceOf(config, plugins)
      ->GoldLinks({.path = config.data().path(), .seed = config.seed()}, source,
                  target);
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
