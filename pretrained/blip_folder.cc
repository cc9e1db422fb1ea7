#include "pretrained/blip_folder.h"

#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "attention/transformer/transformer.pb.h"
#include "attention/transformer/validation.h"
#include "data/images/image_format.h"
#include "data/images/image_format.pb.h"
#include "data/text/wordpiece.h"
#include "options/config_problems.h"
#include "pretrained/image_processor.h"
#include "pretrained/pretrained_weights.h"
#include "pretrained/same_transformer.h"
#include "third_party/abseil_backport/status_macros.h"
#include "vision/captioner.h"
#include "vision/captioner.pb.h"
#include "vision/vision_transformer.pb.h"

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

namespace {

// Removes fields that do not affect the model. In the image encoder,
// transformers applies dropout only to attention weights. The number of
// positions follows from the size of the images.
TransformerConfig ImageEncoderPart(TransformerConfig config) {
  config.clear_dropout();
  config.mutable_position_embedding()->clear_longest();
  return WithoutDropoutRates(std::move(config));
}

// Returns `config` with its cross-attention in place of its self-attention, so
// that CheckSameTransformer() compares the cross-attention.
TransformerConfig CrossAttentionPart(TransformerConfig config) {
  *config.mutable_attention() =
      LayerConfig(AttentionRegistry(), config, 0).cross_attention();
  return WithoutDropoutRates(std::move(config));
}

// Checks that config.json, whose contents are `text`, and the image processor
// together describe the model completely.
absl::Status CheckIsBlip(const std::string& text,
                         const WordPieceTokenizer& tokenizer,
                         const BlipDescription& description) {
  const CaptionerConfig& config = description.config;
  const VisionTransformerConfig& vision = config.vision_transformer();
  if (!config.cross_attention() ||
      vision.pooling() != VisionTransformerConfig::CLASS_TOKEN) {
    return absl::InvalidArgumentError(
        "error: BLIP requires cross_attention: true, and pooling: CLASS_TOKEN "
        "in the vision transformer");
  }
  const ImageFormat& images = description.images;
  if (images.crop() || images.grey() || images.height() != images.width()) {
    return absl::InvalidArgumentError(
        "error: BLIP requires a data.captions.format that stretches images to "
        "a square in colour: `height` must equal `width`, and `crop` and "
        "`grey` must be false");
  }
  REGARD_ASSIGN_OR_RETURN(const BlipDescription read,
                          ParseBlipConfig(text, kConfig, tokenizer));
  REGARD_RETURN_IF_ERROR(CheckSameTransformer(
      ImageEncoderPart(read.config.vision_transformer().transformer()),
      ImageEncoderPart(vision.transformer()), "BLIP (vision_transformer)"));
  REGARD_RETURN_IF_ERROR(CheckSameTransformer(
      WithoutDropoutRates(read.config.decoder()),
      WithoutDropoutRates(config.decoder()), "BLIP (decoder)"));
  return CheckSameTransformer(CrossAttentionPart(read.config.decoder()),
                              CrossAttentionPart(config.decoder()),
                              "BLIP (cross_attention of decoder)");
}

}  // namespace

absl::Status WriteBlipFolder(const CaptionModel& model,
                             const std::string& folder, FileOperations& files) {
  const std::optional<ImageFormat>& format = model.data().train.images.format;
  if (model.tokens().words() || !format.has_value()) {
    return absl::InvalidArgumentError(
        "error: BLIP requires images from files (data.captions.list) and "
        "captions of subwords (model.captioner.tokens)");
  }
  const BlipDescription description = {
      .config = model.config(), .ids = model.tokens().ids(), .images = *format};
  const WordPiece& pieces = model.tokens().pieces();
  const WordPieceTokenizer tokenizer = {
      .options = pieces.options(),
      .pieces = std::make_unique<const WordPiece>(pieces),
      .longest = model.config().decoder().position_embedding().longest()};
  const std::string text = BlipConfigText(description);
  REGARD_RETURN_IF_ERROR(CheckIsBlip(text, tokenizer, description));
  REGARD_RETURN_IF_ERROR(CheckWordPieceFiles(tokenizer));
  REGARD_RETURN_IF_ERROR(MakeDirectories(folder, files));
  REGARD_RETURN_IF_ERROR(WriteWordPieceFiles(tokenizer, folder, files));
  REGARD_RETURN_IF_ERROR(WriteImageProcessor(
      description.images, "BlipImageProcessor", folder, files));
  REGARD_RETURN_IF_ERROR(WritePretrainedWeights(
      BlipWeights(description), model.parameters(), folder, files));
  return WriteFileAtomically(JoinPath(folder, kConfig), text, files);
}

}  // namespace regard
