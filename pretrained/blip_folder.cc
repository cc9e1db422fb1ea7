#include "pretrained/blip_folder.h"

#include "absl/strings/str_cat.h"
#include "data/images/image_format.h"
#include "nn/config_problems.h"
#include "pretrained/image_processor.h"
#include "pretrained/pretrained_weights.h"
#include "third_party/abseil_backport/status_macros.h"
#include "vision/captioner.h"

namespace regard {

namespace {

constexpr char kConfig[] = "config.json";

absl::Status CheckModel(const AttentionRegistry& scorers,
                        const BlipFolder& model) {
  const BlipDescription& description = model.description;
  ConfigProblems problems;
  ValidateCaptioner(description.config, scorers, problems);
  if (!problems.ok()) {
    const ConfigProblems::Problem& first = problems.problems().front();
    return absl::InvalidArgumentError(
        absl::StrCat(JoinPath(model.path, kConfig), ": error: ", first.path,
                     " ", first.message));
  }
  ParameterStore<float> parameters;
  const Captioner<float> captioner(description.config,
                                   ShapeOf(description.images), description.ids,
                                   scorers, parameters.Root());
  REGARD_ASSIGN_OR_RETURN(
      const PretrainedWeights weights,
      PretrainedWeights::Open(model.path, BlipWeights(description)));
  return weights.Check(parameters);
}

}  // namespace

absl::Status BlipFolder::LoadWeights(ParameterStore<float>& parameters,
                                     std::vector<std::string>* kept) const {
  REGARD_ASSIGN_OR_RETURN(
      const PretrainedWeights weights,
      PretrainedWeights::Open(path, BlipWeights(description)));
  return weights.Load(parameters, kept);
}

absl::StatusOr<BlipFolder> OpenBlipFolder(absl::string_view path,
                                          const AttentionRegistry& scorers) {
  BlipFolder model = {.path = ResolveUserPath(path)};
  REGARD_ASSIGN_OR_RETURN(model.tokenizer, ReadWordPieceFiles(model.path));
  REGARD_ASSIGN_OR_RETURN(model.description,
                          ReadBlipConfig(model.path, model.tokenizer));
  REGARD_RETURN_IF_ERROR(CheckModel(scorers, model));
  return model;
}

absl::Status WriteBlipFolder(const BlipFolder& model,
                             const ParameterStore<float>& parameters,
                             const std::string& folder, FileOperations& files) {
  REGARD_RETURN_IF_ERROR(MakeDirectories(folder, files));
  REGARD_RETURN_IF_ERROR(WriteFileAtomically(
      JoinPath(folder, kConfig), BlipConfigText(model.description), files));
  REGARD_RETURN_IF_ERROR(WriteWordPieceFiles(model.tokenizer, folder, files));
  REGARD_RETURN_IF_ERROR(WriteImageProcessor(
      model.description.images, "BlipImageProcessor", folder, files));
  return WritePretrainedWeights(BlipWeights(model.description), parameters,
                                folder, files);
}

}  // namespace regard
