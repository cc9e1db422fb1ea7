#include "tools/trained_language_model.h"

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "files/file.h"
#include "language/text_vocabulary.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

absl::StatusOr<TrainedLanguageModel> LoadLanguageModel(absl::string_view run,
                                                       const Plugins& plugins) {
  constexpr char kVocabulary[] = "vocabulary.txt";
  REGARD_ASSIGN_OR_RETURN(TrainedRun opened, OpenTrainedRun(run, plugins));
  TrainedLanguageModel trained;
  static_cast<TrainedRun&>(trained) = std::move(opened);
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

}  // namespace regard
