#include "vision/image_classifier.h"

#include <algorithm>
#include <utility>

#include "attention/transformer/initialization.h"
#include "autodiff/ops/softmax.h"
#include "autodiff/tape.h"
#include "third_party/abseil_backport/check.h"
#include "vision/augmentation.h"

namespace regard {

namespace {

constexpr int64_t kEvaluationBatch = 64;

// No class is reserved.
constexpr SpecialIds kNoSpecialIds = {.begin = -1, .end = -1, .pad = -1};

LinearHead<float> MakeHead(const VisionTransformerConfig& config,
                           int64_t classes,
                           const ParameterScope<float>& scope) {
  return LinearHead<float>(
      scope.Sub("head"), config.transformer().width(), classes,
      LinearInitialization(config.transformer().initialization(),
                           /*bias=*/true),
      kNoSpecialIds);
}

}  // namespace

void ImageClassifier::AddParameters(const VisionTransformerConfig& config,
                                    const ImageShape& images, int64_t classes,
                                    const ScorerRegistry& scorers,
                                    ParameterStore<float>& store) {
  const ParameterScope<float> scope = store.Root();
  const VisionTransformer<float> encoder(config, images, scorers,
                                         scope.Sub("encoder"));
  MakeHead(config, classes, scope);
}

ImageClassifier::ImageClassifier(const VisionTransformerConfig& config,
                                 const ScorerRegistry& scorers,
                                 ImageSplits data, const ModelOptions& options)
    : Model(options.loss),
      config_(config),
      data_(std::move(data)),
      encoder_(config, data_.train.shape, scorers,
               parameters_.Root().Sub("encoder")),
      head_(MakeHead(config, static_cast<int64_t>(data_.classes.size()),
                     parameters_.Root())) {
  for (const ImageSet* set : {&data_.dev, &data_.test}) {
    REGARD_CHECK(set->size() == 0 || set->shape == data_.train.shape)
        << "images of " << set->shape.height << " x " << set->shape.width
        << " among those of " << data_.train.shape.height << " x "
        << data_.train.shape.width;
  }
  // A patch that does not fit may be too large to hold its weights.
  if (encoder_.FitsImages()) parameters_.Finalize(options.seed);
}

Var<float> ImageClassifier::Readout(
    Forward<float>& forward, const ImageSet& set,
    absl::Span<const int64_t> images,
    absl::Span<LayerWeights<float>> weights) const {
  const Var<float> pixels =
      MakeImages(forward.tape(), set, images, config_.augmentation(), epoch_);
  return encoder_.Pool(encoder_(forward, pixels, weights));
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
  sums[0] = head_.Loss(forward, Readout(forward, data_.train, examples, {}),
                       labels, loss_options().label_smoothing);
}

Var<float> ImageClassifier::PredictBatch(
    Forward<float>& forward, const ImageSet& set,
    absl::Span<const int64_t> images,
    absl::Span<LayerWeights<float>> weights) const {
  return LogSoftmax(
      head_.Logits(forward, Readout(forward, set, images, weights)));
}

std::vector<float> ImageClassifier::Predict(Forward<float>& forward,
                                            const ImageSet& set) const {
  std::vector<float> predicted;
  predicted.reserve(static_cast<size_t>(set.size() * classes()));
  const auto predict = [&](absl::Span<const int64_t> images) {
    const Var<float> batch = PredictBatch(forward, set, images, {});
    predicted.insert(predicted.end(), batch.span().begin(), batch.span().end());
  };
  ForEachBatch(forward, set.size(), kEvaluationBatch, predict);
  return predicted;
}

void ImageClassifier::Evaluate(Forward<float>& forward, Split split,
                               std::vector<Measurement>* measurements) const {
  if (split == Split::kTrain) return;
  const ImageSet& set = split == Split::kDev ? data_.dev : data_.test;
  if (set.size() == 0) return;
  const std::vector<float> predicted = Predict(forward, set);
  double loss = 0;
  int64_t correct = 0;
  for (int64_t i = 0; i < set.size(); ++i) {
    const int32_t label = set.labels[static_cast<size_t>(i)];
    const auto first = predicted.begin() + i * classes();
    loss -= first[label];
    if (std::max_element(first, first + classes()) - first == label) ++correct;
  }
  const auto count = static_cast<double>(set.size());
  measurements->push_back({"accuracy", static_cast<double>(correct) / count});
  measurements->push_back({"loss", loss / count});
}

}  // namespace regard
