#include "vision/image_classifier.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "attention/transformer/initialization.h"
#include "autodiff/ops/softmax.h"
#include "autodiff/tape.h"
#include "data/images/image_file.h"
#include "evaluation/batches.h"
#include "third_party/abseil_backport/check.h"
#include "third_party/abseil_backport/status_macros.h"
#include "vision/augmentation.h"
#include "vision/image_trace.h"

namespace regard {

namespace {

// The maximum number of tokens of the images that are classified at once,
// unless one image has more. The activations then take little memory and stay
// in the caches.
constexpr int64_t kMaxTokens = 512;

}  // namespace

ImageClassifier::ImageClassifier(const VisionTransformerConfig& config,
                                 const AttentionRegistry& scorers,
                                 ImageSplits data, const ModelOptions& options)
    : Model(options.loss),
      config_(config),
      data_(std::move(data)),
      names_(data_.classes),
      encoder_(config, data_.train.shape, scorers,
               parameters_.Root().Sub("encoder")),
      head_(parameters_.Root().Sub("head"), config.transformer().width(),
            static_cast<int64_t>(data_.classes.size()),
            LinearInitialization(config.transformer().initialization(),
                                 /*bias=*/true),
            kNoSpecialIds) {
  for (const ImageSet* set : {&data_.dev, &data_.test}) {
    REGARD_CHECK(set->size() == 0 || set->shape == data_.train.shape)
        << "images of " << set->shape.height << " x " << set->shape.width
        << " among those of " << data_.train.shape.height << " x "
        << data_.train.shape.width;
  }
  // If the patch size does not fit the images, the weights might be too large
  // to allocate.
  if (options.finalize && encoder_.FitsImages()) {
    parameters_.Finalize(options.seed);
  }
}

Var<float> ImageClassifier::Readout(Forward<float>& forward,
                                    const ImageSet& set,
                                    absl::Span<const int64_t> images) const {
  const Var<float> pixels =
      MakeImages(forward.tape(), set, images, config_.augmentation(), epoch_);
  return encoder_.Pool(encoder_(forward, pixels));
}

void ImageClassifier::Loss(Forward<float>& forward,
                           absl::Span<const int64_t> examples,
                           absl::Span<const double>,
                           absl::Span<Var<float>> sums) const {
  const absl::Span<int32_t> labels(forward.tape().arena().New<int32_t>(
                                       static_cast<int64_t>(examples.size())),
                                   examples.size());
  for (size_t i = 0; i < examples.size(); ++i) {
    labels[i] = data_.train.labels[static_cast<size_t>(examples[i])];
  }
  sums[0] = head_.Loss(forward, Readout(forward, data_.train, examples), labels,
                       loss_options().label_smoothing);
}

Var<float> ImageClassifier::BatchLogProbabilities(
    Forward<float>& forward, const ImageSet& set,
    absl::Span<const int64_t> images) const {
  return LogSoftmax(head_.Logits(forward, Readout(forward, set, images)));
}

std::vector<float> ImageClassifier::Predict(Forward<float>& forward,
                                            const ImageSet& set) const {
  std::vector<float> predicted;
  predicted.reserve(static_cast<size_t>(set.size() * classes()));
  const auto predict = [&](Forward<float>& passes,
                           absl::Span<const int64_t> images) {
    const Var<float> batch = BatchLogProbabilities(passes, set, images);
    return std::vector<float>(batch.span().begin(), batch.span().end());
  };
  const int64_t most = std::max<int64_t>(1, kMaxTokens / encoder_.tokens());
  ForEachBatch(forward, set.size(), most, predict,
               [&](auto, const std::vector<float>& batch) {
                 predicted.insert(predicted.end(), batch.begin(), batch.end());
               });
  return predicted;
}

absl::StatusOr<ImageSet> ImageClassifier::Read(
    const PredictionRequest& request) const {
  if (request.example < 0) return ReadImageLike(request.text, data_.train);
  const ImageSet& set = data_.test.size() > 0 ? data_.test : data_.dev;
  REGARD_RETURN_IF_ERROR(
      CheckExample(request, static_cast<size_t>(set.size())));
  ImageSet image = {.shape = set.shape, .format = set.format};
  const uint8_t* const pixels = set.image(request.example);
  image.pixels.assign(pixels, pixels + set.shape.size());
  image.labels = {set.labels[static_cast<size_t>(request.example)]};
  return image;
}

absl::StatusOr<Prediction> ImageClassifier::Predict(
    Forward<float>& forward, const PredictionRequest& request,
    const PredictionOutputLimits& options) const {
  const std::vector<std::string>& classes = data_.classes;
  REGARD_ASSIGN_OR_RETURN(const ImageSet image, Read(request));
  Prediction prediction = {.input = request.text};
  if (!image.labels.empty()) {
    prediction.input = absl::StrCat("image ", request.example);
    prediction.reference = classes[static_cast<size_t>(image.labels[0])];
  }
  prediction.choices.push_back(
      RankedChoices(Predict(forward, image), options.most_choices,
                    [&](size_t label) { return classes[label]; }));
  prediction.text = prediction.choices[0][0].name;
  return prediction;
}

absl::StatusOr<TraceablePrediction<float>> ImageClassifier::Trace(
    Forward<float>& forward, const PredictionRequest& request,
    const TraceOptions& options) const {
  REGARD_RETURN_IF_ERROR(CheckNoTarget(options));
  REGARD_ASSIGN_OR_RETURN(const ImageSet image, Read(request));
  TraceablePrediction<float> traced;
  TraceDescription& labels = traced.labels;
  labels.input = request.example < 0 ? request.text
                                     : absl::StrCat("image ", request.example);
  labels.sequences = {PatchesOf(image, 0, encoder_)};
  labels.sites = {{"*", 0, 0}};
  for (const std::string& name : data_.classes) {
    labels.outputs.push_back({name});
  }
  const std::vector<float> predicted = Predict(forward, image);
  labels.chosen =
      std::max_element(predicted.begin(), predicted.end()) - predicted.begin();
  labels.prediction = data_.classes[static_cast<size_t>(labels.chosen)];
  traced.pass = [this, image](Forward<float>& with) {
    return BatchLogProbabilities(with, image, {0}).Reshape({classes()});
  };
  traced.lens = {
      .sites = "vision_transformer/layers[*]/*/residual",
      .rows = {"the class"},
      .log_probabilities =
          [this](Forward<float>& with, Var<float> residual) {
            return LogSoftmax(head_.Logits(
                with, encoder_.Pool(encoder_.ApplyFinalNorm(with, residual))));
          },
      .name = [this](size_t label) { return data_.classes[label]; }};
  return traced;
}

std::vector<EvaluatedSet> ImageClassifier::Evaluate(Forward<float>& forward,
                                                    Split split) const {
  if (split == Split::kTrain) return {};
  const ImageSet& set = split == Split::kDev ? data_.dev : data_.test;
  const std::vector<float> predicted = Predict(forward, set);
  EvaluatedSet evaluated = {.metrics = {{"accuracy"}, {"loss"}}};
  for (int64_t i = 0; i < set.size(); ++i) {
    const int32_t label = set.labels[static_cast<size_t>(i)];
    const absl::Span<const float> row = absl::MakeConstSpan(predicted).subspan(
        static_cast<size_t>(i * classes()), static_cast<size_t>(classes()));
    const int32_t best = names_.BestCanonicalLabel(row);
    evaluated.metrics[0].Add(
        {best == names_.CanonicalLabel(label) ? 1.0 : 0.0, 1});
    evaluated.metrics[1].Add({names_.Loss(row, label), 1});
    evaluated.examples.push_back({.input = absl::StrCat("image ", i),
                                  .reference = data_.classes[label],
                                  .output = data_.classes[best]});
  }
  if (evaluated.examples.empty()) return {};
  return {std::move(evaluated)};
}

}  // namespace regard
