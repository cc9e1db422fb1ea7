#include "pretrained/vit_folder.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "data/images/image_format.h"
#include "data/images/image_set.h"
#include "nn/layers/linear.h"
#include "options/config_problems.h"
#include "pretrained/image_processor.h"
#include "pretrained/pretrained_weights.h"
#include "pretrained/same_transformer.h"
#include "third_party/abseil_backport/status_macros.h"
#include "vision/vision_transformer.h"

namespace regard {

namespace {

constexpr char kConfig[] = "config.json";

absl::Status CheckConfig(const std::string& path,
                         const VitDescription& description,
                         const AttentionRegistry& scorers) {
  ConfigProblems problems;
  ValidateVisionTransformer(description.config, scorers, problems);
  {
    const ConfigProblems::Scope scope(problems, "format");
    ValidateImageFormat(description.format, problems);
  }
  const int patch = description.config.patch();
  const ImageFormat& format = description.format;
  if (format.height() % patch != 0 || format.width() % patch != 0) {
    problems.Add("patch_size",
                 absl::StrCat(patch, " must divide the image size, ",
                              format.height(), " x ", format.width()));
  }
  if (description.classes.empty()) {
    problems.Add("num_classes",
                 "must be at least 1: the model classifies images");
  }
  if (problems.ok()) return absl::OkStatus();
  const ConfigProblems::Problem& first = problems.problems().front();
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": error: ", first.path, " ", first.message));
}

bool HasHead(const PretrainedWeights& weights, VitNames names) {
  const std::string head = names == VitNames::kTimm ? "head." : "classifier.";
  return weights.Has(head + "weight") || weights.Has(head + "bias");
}

// Returns a weight table that contains only the head.
WeightTable HeadWeights(const VitDescription& description, VitNames names) {
  WeightTable table = VitWeights(description, names, /*head=*/true);
  for (auto line = table.names.begin(); line + 1 != table.names.end(); ++line) {
    table.ignored.emplace_back(absl::StripPrefix(line->theirs, table.prefix));
  }
  table.names.erase(table.names.begin(), table.names.end() - 1);
  return table;
}

// Checks that the tensors match a model with or without a head.
absl::Status CheckWeights(const VitFolder& folder,
                          const AttentionRegistry& scorers) {
  const VitDescription& description = folder.description;
  REGARD_ASSIGN_OR_RETURN(
      const PretrainedWeights weights,
      PretrainedWeights::Open(
          folder.path, VitWeights(description, folder.names, /*head=*/true)));
  ParameterStore<float> parameters;
  const VisionTransformer<float> encoder(description.config,
                                         ShapeOf(description.format), scorers,
                                         parameters.Root().Sub("encoder"));
  std::optional<LinearLayer<float>> head;
  if (HasHead(weights, folder.names)) {
    head.emplace(parameters.Root().Sub("head"),
                 description.config.transformer().width(),
                 std::ssize(description.classes));
  }
  return weights.Check(parameters);
}

}  // namespace

absl::Status VitFolder::LoadWeights(ParameterStore<float>& parameters,
                                    std::vector<std::string>* kept) const {
  REGARD_ASSIGN_OR_RETURN(
      const PretrainedWeights weights,
      PretrainedWeights::Open(path,
                              VitWeights(description, names, /*head=*/true)));
  return weights.Load(parameters, kept);
}

absl::Status VitFolder::LoadWeightsForClasses(
    const std::vector<std::string>& classes, ParameterStore<float>& parameters,
    std::vector<std::string>* kept) const {
  REGARD_ASSIGN_OR_RETURN(
      const PretrainedWeights encoder,
      PretrainedWeights::Open(path,
                              VitWeights(description, names, /*head=*/false)));
  REGARD_RETURN_IF_ERROR(encoder.Load(parameters, kept));
  std::vector<size_t> rows;
  for (const std::string& name : classes) {
    const auto found = std::ranges::find(description.classes, name);
    if (found == description.classes.end()) return absl::OkStatus();
    rows.push_back(found - description.classes.begin());
  }
  REGARD_ASSIGN_OR_RETURN(
      const PretrainedWeights weights,
      PretrainedWeights::Open(path, HeadWeights(description, names)));
  if (!HasHead(weights, names)) return absl::OkStatus();
  ParameterStore<float> theirs;
  const int64_t width = description.config.transformer().width();
  const LinearLayer<float> head(theirs.Root().Sub("head"), width,
                                std::ssize(description.classes));
  theirs.FinalizeWithZeros();
  REGARD_RETURN_IF_ERROR(weights.Load(theirs));
  for (const ParameterInfo& info : theirs.parameters()) {
    const absl::Span<const float> from =
        theirs.value(*theirs.FindByName(info.name));
    const absl::Span<float> to =
        parameters.value(*parameters.FindByName(info.name));
    const size_t size = from.size() / description.classes.size();
    for (size_t i = 0; i < rows.size(); ++i) {
      std::ranges::copy(from.subspan(rows[i] * size, size),
                        to.begin() + i * size);
    }
    std::erase(*kept, info.name);
  }
  return absl::OkStatus();
}

absl::StatusOr<VitFolder> OpenVitFolder(absl::string_view path, VitNames names,
                                        const AttentionRegistry& scorers) {
  VitFolder folder;
  folder.path = ResolveUserPath(path);
  folder.names = names;
  REGARD_ASSIGN_OR_RETURN(folder.description, names == VitNames::kTimm
                                                  ? ReadTimmConfig(folder.path)
                                                  : ReadVitConfig(folder.path));
  REGARD_RETURN_IF_ERROR(
      CheckConfig(JoinPath(folder.path, kConfig), folder.description, scorers));
  REGARD_RETURN_IF_ERROR(CheckWeights(folder, scorers));
  return folder;
}

namespace {

// Removes the number of positions, which follows from the size of the images.
TransformerConfig WithoutLength(TransformerConfig config) {
  config.mutable_position_embedding()->clear_longest();
  return WithoutDropoutRates(std::move(config));
}

// Checks that config.json and preprocessor_config.json describe the model
// completely.
absl::Status CheckIsVit(const std::string& text,
                        const VitDescription& description) {
  const ImageFormat& format = description.format;
  if (format.crop() && format.shorter_side() == 0 &&
      format.height() != format.width()) {
    return absl::InvalidArgumentError(
        "error: data.images.format must set shorter_side or be square: "
        "preprocessor_config.json cannot express this crop otherwise");
  }
  if (description.config.pooling() != VisionTransformerConfig::CLASS_TOKEN) {
    return absl::InvalidArgumentError(
        "error: pooling must be CLASS_TOKEN: in transformers, ViT predicts "
        "classes from its class token");
  }
  REGARD_ASSIGN_OR_RETURN(const VitDescription read,
                          ParseVitConfig(text, kConfig));
  return CheckSameTransformer(WithoutLength(read.config.transformer()),
                              WithoutLength(description.config.transformer()),
                              "ViT");
}

}  // namespace

absl::Status WriteVitFolder(const ImageClassifier& model,
                            const std::string& folder, FileOperations& files) {
  const ImageSplits& data = model.data();
  VitDescription description;
  description.config = model.config();
  description.classes = data.classes;
  if (!data.train.format.has_value()) {
    return absl::InvalidArgumentError(
        "error: this model was not trained on image files (data.images); only "
        "a model of image files can be written as a Hugging Face model folder");
  }
  description.format = *data.train.format;
  const std::string text = VitConfigText(description);
  REGARD_RETURN_IF_ERROR(CheckIsVit(text, description));
  REGARD_RETURN_IF_ERROR(MakeDirectories(folder, files));
  // ViTImageProcessor does not crop before transformers 5.
  REGARD_RETURN_IF_ERROR(WriteImageProcessor(
      description.format,
      description.format.crop() ? "CLIPImageProcessor" : "ViTImageProcessor",
      folder, files));
  REGARD_RETURN_IF_ERROR(WritePretrainedWeights(
      VitWeights(description, VitNames::kTransformers, /*head=*/true),
      model.parameters(), folder, files));
  return WriteFileAtomically(JoinPath(folder, kConfig), text, files);
}

}  // namespace regard
