#include "tools/trained_models.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "data/corpus.h"
#include "data/pairs/sentence_source.h"
#include "experiments/report/terminal_text.h"
#include "experiments/tasks/translation/encoder_decoder_of.h"
#include "files/file.h"
#include "language/text_vocabulary.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

absl::StatusOr<Vocabulary> ReadVocabulary(const TrainedRun& run,
                                          absl::string_view name) {
  REGARD_ASSIGN_OR_RETURN(const std::string text, run.ReadText(name));
  return WithErrorPrefix(Vocabulary::FromText(text, JoinPath(run.path, name)));
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

std::vector<std::string> TypedTokens(absl::string_view text,
                                     const SentencepieceModel* tokenizer,
                                     const Vocabulary& vocabulary) {
  return tokenizer == nullptr ? TypedWords(text, vocabulary)
                              : tokenizer->Tokenize(PrintableText(text));
}

}  // namespace

absl::StatusOr<TrainedTranslator> LoadTranslator(absl::string_view run,
                                                 const Plugins& plugins) {
  REGARD_ASSIGN_OR_RETURN(TrainedRun opened, OpenTrainedRun(run, &plugins));
  TrainedTranslator trained = {std::move(opened), nullptr};
  const std::unique_ptr<SentenceSource> source_of_data =
      SentenceSourceOf(trained.config.data(), plugins.data);
  const ModelConfig& model = trained.config.model();
  if (source_of_data == nullptr ||
      (!model.has_decoder() && !model.has_transformer())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "error: ", trained.path, ": this run's model does not translate"));
  }
  REGARD_ASSIGN_OR_RETURN(Vocabulary source,
                          ReadVocabulary(trained, "source_vocabulary.txt"));
  REGARD_ASSIGN_OR_RETURN(Vocabulary target,
                          ReadVocabulary(trained, "target_vocabulary.txt"));
  absl::StatusOr<Tokenizers> tokenizers = source_of_data->MakeTokenizers(
      [&](const std::string& name) { return trained.ReadText(name); });
  if (!tokenizers.ok()) return tokenizers.status();
  trained.translator = std::make_unique<Translator>(
      EncoderDecoderOf(model), plugins.scorers, std::move(source),
      std::move(target), source_of_data->cut_tokens(), trained.config.seed(),
      *std::move(tokenizers));
  REGARD_RETURN_IF_ERROR(
      trained.LoadWeightsInto(trained.translator->parameters()));
  return trained;
}

absl::StatusOr<TrainedLanguageModel> LoadLanguageModel(absl::string_view run,
                                                       const Plugins& plugins) {
  constexpr char kVocabulary[] = "vocabulary.txt";
  REGARD_ASSIGN_OR_RETURN(TrainedRun opened, OpenTrainedRun(run, &plugins));
  TrainedLanguageModel trained = {std::move(opened), nullptr};
  const ModelConfig& model = trained.config.model();
  if (!model.has_language_model()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "error: ", trained.path, ": this run's model is no language model"));
  }
  REGARD_ASSIGN_OR_RETURN(const std::string text,
                          trained.ReadText(kVocabulary));
  REGARD_ASSIGN_OR_RETURN(
      TextVocabulary vocabulary,
      TextVocabulary::FromText(text, JoinPath(trained.path, kVocabulary),
                               model.language_model()));
  trained.model = std::make_unique<LanguageModel>(
      model.language_model(), plugins.scorers, std::move(vocabulary),
      trained.config.seed());
  REGARD_RETURN_IF_ERROR(trained.LoadWeightsInto(trained.model->parameters()));
  return trained;
}

std::vector<std::string> TypedSource(absl::string_view text,
                                     const Translator& translator) {
  return TypedTokens(text, translator.tokenizers().source.get(),
                     translator.source_vocabulary());
}

std::vector<std::string> TypedTarget(absl::string_view text,
                                     const Translator& translator) {
  return TypedTokens(text, translator.tokenizers().target.get(),
                     translator.target_vocabulary());
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
