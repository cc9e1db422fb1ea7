#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "attention/inspection/attention_maps.h"
#include "attention/inspection/attention_rollout.h"
#include "autodiff/tape.h"
#include "data/data_source.h"
#include "data/images/image_format.h"
#include "data/images/image_set.h"
#include "data/images/image_source.h"
#include "experiments/experiment.pb.h"
#include "experiments/report/traced_maps.h"
#include "experiments/tasks/plugins.h"
#include "experiments/tasks/task.h"
#include "options/config_problems.h"
#include "third_party/abseil_backport/status_macros.h"
#include "vision/image_classifier.h"
#include "vision/image_trace.h"
#include "vision/vision_transformer.h"

namespace regard {

namespace {

// Maximum numbers of samples, heat maps and misclassified images in a report.
constexpr int64_t kSamples = 12;
constexpr size_t kHeatMaps = 4;
constexpr size_t kMaxMisses = 24;

struct LikelyClass {
  int32_t label;
  double probability;
};

// Returns the prediction for each row of log-probabilities. `rows` is [images,
// classes].
std::vector<LikelyClass> PredictionsOf(absl::Span<const float> rows,
                                       const ImageClassifier& model) {
  const auto classes = static_cast<size_t>(model.classes());
  std::vector<LikelyClass> predictions;
  for (size_t begin = 0; begin < rows.size(); begin += classes) {
    const absl::Span<const float> row = rows.subspan(begin, classes);
    predictions.push_back(
        {model.names().BestCanonicalLabel(row),
         std::exp(static_cast<double>(*std::ranges::max_element(row)))});
  }
  return predictions;
}

class ImageClassificationTask : public Task {
 public:
  using Options = VisionTransformerConfig;
  using Data = ImageData;

  static std::vector<MetricInfo> Metrics() {
    return {{"accuracy", "",
             "fraction of images whose class is predicted correctly",
             Better::kHigher},
            {"loss", "nats per image", "cross-entropy", Better::kLower,
             /*logarithmic=*/true}};
  }

  static void Validate(const Options& options, const TaskContext& context,
                       ConfigProblems& problems) {
    ValidateVisionTransformer(options, context.scorers, problems);
  }

  static absl::Status RestoreData(const TaskContext& context,
                                  const AnyDataSource&, const StoredFiles& kept,
                                  Data* data) {
    // A model of image files only needs the stored format and classes. For all
    // other kinds of data, the model needs the data themselves.
    if (!context.config.data().has_images()) {
      return data->splits.train.size() > 0 ? absl::OkStatus()
                                           : absl::NotFoundError("");
    }
    const ImageFormat& format = context.config.data().images().format();
    data->splits.train.shape = ShapeOf(format);
    data->splits.train.format = format;
    REGARD_ASSIGN_OR_RETURN(const std::string classes, kept.read(kClassesFile));
    return ReplaceClasses(
        absl::StrSplit(absl::StripSuffix(classes, "\n"), '\n'), &data->splits);
  }

  ImageClassificationTask(const Options& options, Data data,
                          const TaskContext& context)
      : Task(Metrics(), std::move(data.digests), std::move(data.notes)),
        model_(options, context.scorers, std::move(data.splits),
               context.model_options()) {}

  Model<float>& model() override { return model_; }
  bool has_dev() const override { return model_.data().dev.size() > 0; }
  std::vector<EvaluatedSplitSize> EvaluatedSplitSizes() const override {
    return DevAndTestSizes(model_.data());
  }

  void ValidateData(ConfigProblems& problems) const override {
    const ConfigProblems::Scope scope(problems, "model.vision_transformer");
    model_.encoder().ValidateImages(problems);
  }

  std::map<std::string, std::string> Files() const override {
    if (!model_.data().train.format.has_value()) return {};
    return {{kClassesFile,
             absl::StrCat(absl::StrJoin(model_.data().classes, "\n"), "\n")}};
  }

  std::vector<std::string> Notes() const override {
    std::vector<std::string> notes = Task::Notes();
    if (!model_.names().note().empty()) notes.push_back(model_.names().note());
    return notes;
  }

  Showcase Show(Forward<float>& forward, bool final) const override;
  absl::StatusOr<Prediction> Predict(
      Forward<float>& forward, const PredictionRequest& request,
      const PredictionOutputLimits& options) const override {
    return model_.Predict(forward, request, options);
  }
  absl::StatusOr<TraceablePrediction<float>> Trace(
      Forward<float>& forward, const PredictionRequest& request,
      const TraceOptions& options) const override {
    return model_.Trace(forward, request, options);
  }

 private:
  std::string TitleOf(int32_t label, const LikelyClass& prediction) const;
  LabelledMatrix Confusion(const ImageSet& set,
                           absl::Span<const LikelyClass> predictions) const;
  // Adds pictures of images with attention rollout. If requested, adds the
  // attention heads of the last layer for the first images. Returns the
  // predictions.
  std::vector<LikelyClass> ShowImages(
      Forward<float>& forward, const ImageSet& set,
      absl::Span<const int64_t> images, std::vector<WeightedImage>* pictures,
      std::vector<LabelledMatrix>* heat_maps = nullptr) const;

  ImageClassifier model_;
};

std::string ImageClassificationTask::TitleOf(
    int32_t label, const LikelyClass& prediction) const {
  const std::vector<std::string>& classes = model_.data().classes;
  return absl::StrCat(
      classes[label], ", ",
      prediction.label == label
          ? ""
          : absl::StrCat("predicted as ", classes[prediction.label], ", "),
      absl::StrFormat("%.2f", prediction.probability));
}

LabelledMatrix ImageClassificationTask::Confusion(
    const ImageSet& set, absl::Span<const LikelyClass> predictions) const {
  LabelledMatrix matrix;
  matrix.title =
      "Confusion matrix: the fraction of the images of the class on the left "
      "that the model predicts as the class above";
  matrix.rows = matrix.columns = model_.data().classes;
  const size_t classes = matrix.rows.size();
  std::vector<double> counts(classes * classes, 0);
  std::vector<double> totals(classes, 0);
  for (size_t i = 0; i < predictions.size(); ++i) {
    counts[set.labels[i] * classes + predictions[i].label] += 1;
    totals[set.labels[i]] += 1;
  }
  for (size_t i = 0; i < counts.size(); ++i) {
    counts[i] /= std::max(totals[i / classes], 1.0);
  }
  matrix.heads.push_back(std::move(counts));
  return matrix;
}

std::vector<LikelyClass> ImageClassificationTask::ShowImages(
    Forward<float>& forward, const ImageSet& set,
    absl::Span<const int64_t> images, std::vector<WeightedImage>* pictures,
    std::vector<LabelledMatrix>* heat_maps) const {
  const VisionTransformer<float>& encoder = model_.encoder();
  const int64_t tokens = encoder.tokens();
  const int64_t first = encoder.first_patch();
  // Weights of the tokens that the classifier reads: the class token, or the
  // mean of all tokens.
  std::vector<double> readout(static_cast<size_t>(tokens),
                              first > 0 ? 0 : 1 / static_cast<double>(tokens));
  if (first > 0) readout[0] = 1;
  std::vector<LikelyClass> predictions;
  for (size_t i = 0; i < images.size(); ++i) {
    const int32_t label = set.labels[static_cast<size_t>(images[i])];
    // Processes one image at a time, because attention maps are large.
    forward.BeginStep();
    const std::vector<AttentionMap<float>> layers =
        RecordAttentionMaps(forward, {kAllMaps}, [&] {
          const Var<float> of_image =
              model_.BatchLogProbabilities(forward, set, images.subspan(i, 1));
          predictions.push_back(PredictionsOf(of_image.span(), model_)[0]);
        });
    const std::vector<double> rollout =
        AttentionRolloutTo<float>(readout, layers, /*example=*/0);
    pictures->push_back(
        WeightedImageOf(TracedImageOf(set, images[i], encoder),
                        {rollout.begin() + first, rollout.end()}));
    pictures->back().title = TitleOf(label, predictions[i]);
    if (heat_maps == nullptr || i >= kHeatMaps) continue;
    const AttentionMap<float>& last = layers.back();
    LabelledMatrix map;
    map.title =
        absl::StrCat("Last layer: where the readout of image ", images[i],
                     " looks (", model_.data().classes[label], ")");
    for (int64_t y = 0; y < encoder.rows(); ++y) {
      map.rows.push_back(absl::StrCat("row ", y + 1));
    }
    for (int64_t x = 0; x < encoder.columns(); ++x) {
      map.columns.push_back(absl::StrCat(x + 1));
    }
    for (int64_t head = 0; head < last.shape[1]; ++head) {
      std::vector<double>& shares = map.heads.emplace_back(tokens - first, 0);
      for (int64_t query = 0; query < tokens; ++query) {
        if (readout[query] == 0) continue;
        const int64_t row = (head * tokens + query) * tokens;
        for (int64_t key = first; key < tokens; ++key) {
          shares[key - first] += readout[query] * last.weights[row + key];
        }
      }
    }
    heat_maps->push_back(std::move(map));
  }
  return predictions;
}

Showcase ImageClassificationTask::Show(Forward<float>& forward,
                                       bool final) const {
  const ImageSplits& data = model_.data();
  const auto [set, split] = ShownSplit(data);
  Showcase showcase;
  showcase.summary = absl::StrFormat(
      "Image classification: %d training images of %d x %d pixels, %d "
      "classes.",
      data.train.size(), data.train.shape.height, data.train.shape.width,
      data.classes.size());
  std::vector<int64_t> images(
      static_cast<size_t>(std::min(kSamples, set->size())));
  std::iota(images.begin(), images.end(), 0);
  std::vector<WeightedImage> pictures;
  std::vector<LikelyClass> predictions =
      ShowImages(forward, *set, images, &pictures, &showcase.heat_maps);
  const std::string note = absl::StrCat(
      "The first images of the ", split,
      " split. The tint shows attention rollout (Abnar and Zuidema, 2020). It "
      "follows attention from the vector that predicts the class back to the "
      "patches, through all layers and their residual connections.");
  showcase.sections.push_back(
      {"Attention rollout", {AttentionCaution(), note, std::move(pictures)}});
  showcase.samples.title = absl::StrCat("Images of the ", split, " split");
  showcase.samples.input = "image";
  for (size_t i = 0; i < predictions.size(); ++i) {
    showcase.samples.rows.push_back(
        {.input = absl::StrCat("image ", images[i]),
         .reference = data.classes[set->labels[i]],
         .output = data.classes[predictions[i].label]});
  }
  if (!final) return showcase;
  predictions = PredictionsOf(model_.Predict(forward, *set), model_);
  std::vector<int64_t> misses;
  for (size_t i = 0; i < predictions.size(); ++i) {
    if (predictions[i].label != set->labels[i]) {
      misses.push_back(static_cast<int64_t>(i));
    }
  }
  // The confusion matrix precedes the pictures on the page.
  const LabelledMatrix confusion = Confusion(*set, predictions);
  showcase.sections.insert(showcase.sections.begin(),
                           Section{confusion.title, {Maps{{confusion}}}});
  // Sorts the misclassified images by probability, highest first.
  std::stable_sort(misses.begin(), misses.end(), [&](int64_t a, int64_t b) {
    return predictions[static_cast<size_t>(a)].probability >
           predictions[static_cast<size_t>(b)].probability;
  });
  if (misses.size() > kMaxMisses) misses.resize(kMaxMisses);
  if (!misses.empty()) {
    std::vector<WeightedImage> missed;
    ShowImages(forward, *set, misses, &missed);
    const std::string of_misses =
        absl::StrCat("Images of the ", split,
                     " split with a wrong prediction, the most probable "
                     "prediction first. The tint shows attention rollout.");
    showcase.sections.push_back(
        {"Top misses", {AttentionCaution(), of_misses, std::move(missed)}});
  }
  std::vector<double> counts(data.classes.size(), 0);
  for (const int32_t label : set->labels) counts[label] += 1;
  showcase.notes[absl::StrCat(split, "/accuracy")] =
      absl::StrFormat("always the most frequent class: %.3f",
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
