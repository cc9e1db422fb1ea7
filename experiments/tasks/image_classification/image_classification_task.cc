#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/span.h"
#include "attention/transformer/layer.h"
#include "autodiff/tape.h"
#include "data/images/image_set.h"
#include "data/images/image_source.h"
#include "experiments/tasks/image_classification/image_picture.h"
#include "experiments/tasks/plugins.h"
#include "experiments/tasks/task.h"
#include "nn/config_problems.h"
#include "vision/attention_rollout.h"
#include "vision/image_classifier.h"
#include "vision/vision_transformer.h"

namespace regard {

namespace {

// The report has room for so many images.
constexpr int64_t kSamples = 12;
constexpr int64_t kHeatMaps = 4;
constexpr size_t kMostMisses = 24;

class ImageClassificationTask : public Task {
 public:
  using Options = VisionTransformerConfig;
  using Data = ImageData;

  static std::vector<MetricInfo> Metrics() {
    return {{"accuracy", "", "share of images whose class is predicted right",
             Better::kHigher},
            {"loss", "nats per image", "cross-entropy", Better::kLower,
             /*logarithmic=*/true}};
  }

  static void Validate(const Options& options, const TaskContext& context,
                       ConfigProblems& problems) {
    ValidateVisionTransformer(options, context.scorers, problems);
  }

  static void AddParameters(const Options& options, const Data& data,
                            const TaskContext& context,
                            ParameterStore<float>& store) {
    ImageClassifier<float>::AddParameters(
        options, data.splits.train.shape,
        static_cast<int64_t>(data.splits.classes.size()), context.scorers,
        store);
  }

  ImageClassificationTask(const Options& options, Data data,
                          const TaskContext& context)
      : Task(Metrics(), std::move(data.digests)),
        model_(options, context.scorers, std::move(data.splits),
               {.loss = LossOptionsOf(context.config.loss()),
                .seed = context.config.seed()}) {}

  Model<float>& model() override { return model_; }
  bool has_dev() const override { return model_.data().dev.size() > 0; }

  void ValidateData(ConfigProblems& problems) const override {
    const ConfigProblems::Scope scope(problems, "model.vision_transformer");
    model_.encoder().ValidateImages(problems);
  }

  Showcase Show(Forward<float>& forward, bool final) const override;

 private:
  // What is predicted of one image.
  struct Prediction {
    int32_t label;
    int32_t predicted;
    double probability;  // of `predicted`
  };

  Prediction PredictionOf(const ImageSet& set, int64_t image,
                          absl::Span<const float> log_probabilities) const;
  std::string TitleOf(const Prediction& prediction) const;
  LabelledMatrix Confusion(absl::Span<const Prediction> predictions) const;
  // Pictures of images with attention rollout, and of the first ones the last
  // layer's attention by heads.
  void ShowImages(Forward<float>& forward, const ImageSet& set,
                  absl::Span<const int64_t> images, Gallery* gallery,
                  std::vector<LabelledMatrix>* heat_maps,
                  std::vector<Prediction>* predictions) const;

  ImageClassifier<float> model_;
};

ImageClassificationTask::Prediction ImageClassificationTask::PredictionOf(
    const ImageSet& set, int64_t image,
    absl::Span<const float> log_probabilities) const {
  const auto best =
      std::max_element(log_probabilities.begin(), log_probabilities.end());
  return {set.labels[static_cast<size_t>(image)],
          static_cast<int32_t>(best - log_probabilities.begin()),
          std::exp(static_cast<double>(*best))};
}

std::string ImageClassificationTask::TitleOf(
    const Prediction& prediction) const {
  const std::vector<std::string>& classes = model_.data().classes;
  if (prediction.predicted == prediction.label) {
    return absl::StrFormat("%s, %.2f", classes[prediction.label],
                           prediction.probability);
  }
  return absl::StrFormat("%s, taken for %s, %.2f", classes[prediction.label],
                         classes[prediction.predicted], prediction.probability);
}

LabelledMatrix ImageClassificationTask::Confusion(
    absl::Span<const Prediction> predictions) const {
  LabelledMatrix matrix;
  matrix.title =
      "Confusion: of the images of the class on the left, the share that is "
      "taken for the class above";
  matrix.rows = matrix.columns = model_.data().classes;
  const size_t classes = matrix.rows.size();
  std::vector<double> counts(classes * classes, 0);
  std::vector<double> totals(classes, 0);
  for (const Prediction& prediction : predictions) {
    counts[prediction.label * classes + prediction.predicted] += 1;
    totals[prediction.label] += 1;
  }
  for (size_t i = 0; i < counts.size(); ++i) {
    counts[i] /= std::max(totals[i / classes], 1.0);
  }
  matrix.heads.push_back(std::move(counts));
  return matrix;
}

void ImageClassificationTask::ShowImages(
    Forward<float>& forward, const ImageSet& set,
    absl::Span<const int64_t> images, Gallery* gallery,
    std::vector<LabelledMatrix>* heat_maps,
    std::vector<Prediction>* predictions) const {
  const VisionTransformer<float>& encoder = model_.encoder();
  const int64_t tokens = encoder.tokens();
  const int64_t first = encoder.first_patch();
  std::vector<LayerWeights<float>> weights(
      static_cast<size_t>(encoder.layers()));
  forward.BeginStep();
  const Var<float> predicted =
      model_.PredictBatch(forward, set, images, absl::MakeSpan(weights));
  for (size_t i = 0; i < images.size(); ++i) {
    const auto row = static_cast<int64_t>(i);
    const Prediction prediction = PredictionOf(
        set, images[i],
        absl::MakeConstSpan(predicted.data() + row * predicted.cols(),
                            static_cast<size_t>(predicted.cols())));
    predictions->push_back(prediction);
    // What reaches the readout: the class token, or the mean of all tokens.
    const std::vector<double> rollout = AttentionRollout<float>(weights, row);
    const auto of_readout = [&](const auto* matrix) {
      std::vector<double> of_patches;
      for (int64_t key = first; key < tokens; ++key) {
        double weight = matrix[key];
        if (first == 0) {
          for (int64_t query = 1; query < tokens; ++query) {
            weight += matrix[query * tokens + key];
          }
          weight /= static_cast<double>(tokens);
        }
        of_patches.push_back(weight);
      }
      return of_patches;
    };
    gallery->pictures.push_back(PictureOf(
        set, images[i], TitleOf(prediction),
        {encoder.rows(), encoder.columns(), of_readout(rollout.data())}));
    if (heat_maps == nullptr || row >= kHeatMaps) continue;
    const Var<float> last = weights.back().self;
    LabelledMatrix map;
    map.title =
        absl::StrCat("Last layer: where the readout of image ", images[i],
                     " looks (", model_.data().classes[prediction.label], ")");
    for (int64_t y = 0; y < encoder.rows(); ++y) {
      map.rows.push_back(absl::StrCat("row ", y + 1));
    }
    for (int64_t x = 0; x < encoder.columns(); ++x) {
      map.columns.push_back(absl::StrCat(x + 1));
    }
    for (int64_t head = 0; head < last.dim(1); ++head) {
      map.heads.push_back(of_readout(last.data() + (row * last.dim(1) + head) *
                                                       tokens * tokens));
    }
    heat_maps->push_back(std::move(map));
  }
}

Showcase ImageClassificationTask::Show(Forward<float>& forward,
                                       bool final) const {
  const ImageSplits& data = model_.data();
  const auto [set, split] = ShownSplit(data);
  Showcase showcase;
  showcase.summary = absl::StrFormat(
      "Image classification: %d images of %d x %d pixels to learn from, %d "
      "classes.",
      data.train.size(), data.train.shape.height, data.train.shape.width,
      data.classes.size());
  std::vector<int64_t> images(
      static_cast<size_t>(std::min(kSamples, set->size())));
  std::iota(images.begin(), images.end(), 0);
  Gallery gallery = {
      .title = "Attention rollout",
      .note = absl::StrCat(
          "The first images of the ", split,
          " split. The tint is the share of each patch in what the classes "
          "are predicted from, through all layers and their residual "
          "connections (Abnar and Zuidema, 2020).")};
  std::vector<Prediction> predictions;
  ShowImages(forward, *set, images, &gallery, &showcase.heat_maps,
             &predictions);
  showcase.galleries.push_back(std::move(gallery));
  showcase.samples.title = absl::StrCat("Images of the ", split, " split");
  showcase.samples.input = "image";
  for (size_t i = 0; i < predictions.size(); ++i) {
    showcase.samples.rows.push_back(
        {.input = absl::StrCat("image ", images[i]),
         .reference = data.classes[predictions[i].label],
         .output = data.classes[predictions[i].predicted],
         .correct = predictions[i].label == predictions[i].predicted});
  }
  if (!final) return showcase;
  const std::vector<float> all = model_.Predict(forward, *set);
  const auto classes = static_cast<size_t>(model_.classes());
  predictions.clear();
  std::vector<int64_t> misses;
  for (int64_t i = 0; i < set->size(); ++i) {
    predictions.push_back(
        PredictionOf(*set, i,
                     absl::MakeConstSpan(all).subspan(
                         static_cast<size_t>(i) * classes, classes)));
    if (predictions.back().predicted != predictions.back().label) {
      misses.push_back(i);
    }
  }
  showcase.matrices.push_back(Confusion(predictions));
  // The surest first.
  std::stable_sort(misses.begin(), misses.end(), [&](int64_t a, int64_t b) {
    return predictions[static_cast<size_t>(a)].probability >
           predictions[static_cast<size_t>(b)].probability;
  });
  if (misses.size() > kMostMisses) misses.resize(kMostMisses);
  if (!misses.empty()) {
    Gallery missed = {
        .title = "Top misses",
        .note = absl::StrCat("Images of the ", split,
                             " split whose class is predicted wrong, those of "
                             "the greatest probability first; the tint is "
                             "attention rollout.")};
    std::vector<Prediction> of_misses;
    ShowImages(forward, *set, misses, &missed, nullptr, &of_misses);
    showcase.galleries.push_back(std::move(missed));
  }
  std::vector<double> counts(classes, 0);
  for (const int32_t label : set->labels) counts[label] += 1;
  showcase.notes[absl::StrCat(split, "/accuracy")] =
      absl::StrFormat("of the most frequent class: %.3f",
                      *std::max_element(counts.begin(), counts.end()) /
                          static_cast<double>(set->size()));
  return showcase;
}

}  // namespace

REGARD_PLUGINS(ImageClassification) {
  plugins.tasks.Add<ImageClassificationTask>(
      "classes of images by a Vision Transformer");
}

}  // namespace regard
