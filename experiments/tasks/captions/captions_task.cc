#include <algorithm>
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
#include "absl/types/span.h"
#include "data/data_source.h"
#include "data/images/caption_set.h"
#include "data/images/image_format.h"
#include "data/target_lengths.h"
#include "experiments/experiment.pb.h"
#include "experiments/report/traced_maps.h"
#include "experiments/tasks/plugins.h"
#include "experiments/tasks/task.h"
#include "files/file.h"
#include "options/config_problems.h"
#include "third_party/abseil_backport/status_macros.h"
#include "vision/caption_model.h"
#include "vision/caption_tokens.h"
#include "vision/captioner.h"
#include "vision/image_trace.h"
#include "vision/vision_transformer.h"

namespace regard {

namespace {

constexpr int64_t kSamples = 12;
constexpr size_t kGalleries = 6;

class CaptionsTask : public Task {
 public:
  using Options = CaptionerConfig;
  using Data = CaptionData;

  static constexpr bool kSearches = true;

  static std::vector<MetricInfo> Metrics() {
    return {{"exact_match", "", "fraction of images whose sentence is correct",
             Better::kHigher},
            {"bleu", "0 to 100",
             "overlap of word sequences with the image's sentences",
             Better::kHigher},
            {"cider_d", "0 to 10",
             "overlap of word sequences with the image's sentences, where rare "
             "sequences count more",
             Better::kHigher},
            {"pointing_accuracy", "",
             "fraction of objects whose quadrant has the most attention when "
             "the sentence names them",
             Better::kHigher},
            {"pointing_mass", "",
             "mean attention on the quadrant of an object when the sentence "
             "names it",
             Better::kHigher},
            {"loss", "nats per word", "cross-entropy", Better::kLower,
             /*logarithmic=*/true},
            {"token_accuracy", "",
             "fraction of words predicted correctly from the true words before "
             "them",
             Better::kHigher},
            {"cut_outputs", "sentences",
             "outputs cut at the length limit of the search, which "
             "search.max_length raises",
             Better::kLower}};
  }

  static void Validate(const Options& options, const TaskContext& context,
                       ConfigProblems& problems) {
    ValidateCaptioner(options, context.scorers, problems);
    if (context.config.data().has_captions() &&
        !context.config.data().captions().has_list() &&
        options.vision_transformer().augmentation().flip()) {
      problems.Add(
          "vision_transformer.augmentation.flip",
          "must be false for canvases, whose sentences name left and right");
    }
  }

  static absl::Status RestoreData(const TaskContext& context,
                                  const AnyDataSource&, const StoredFiles& kept,
                                  Data* data) {
    const CaptionsConfig& config = context.config.data().captions();
    CaptionSplits& splits = data->splits;
    splits.lengths = TargetLengths::FromNumbers(kept.numbers);
    if (!config.has_list()) {
      return splits.train.size() > 0 ? absl::OkStatus()
                                     : absl::NotFoundError("");
    }
    const CaptionerConfig& captioner = context.config.model().captioner();
    const char* const file = CaptionTokens::FileName(captioner);
    REGARD_ASSIGN_OR_RETURN(splits.vocabulary, kept.read(file));
    splits.train.images.shape = ShapeOf(config.format());
    splits.train.images.format = config.format();
    return CaptionTokens::Check(captioner, splits.vocabulary,
                                JoinPath(kept.folder, file));
  }

  CaptionsTask(const Options& options, Data data, const TaskContext& context)
      : Task(Metrics(), std::move(data.digests)),
        tokens_file_(CaptionTokens::FileName(options)),
        model_(options, context.scorers, std::move(data.splits),
               context.model_options(), context.config.search()) {
    if (!model_.tokens().digest().empty()) {
      AddDigest("model.captioner.tokens.vocabulary", model_.tokens().digest());
    }
  }

  Model<float>& model() override { return model_; }
  bool has_dev() const override { return model_.data().dev.size() > 0; }
  std::vector<EvaluatedSplitSize> EvaluatedSplitSizes() const override {
    return DevAndTestSizes(model_.data());
  }
  bool MeasuresOnDev(const std::string& metric) const override {
    return !metric.starts_with("pointing_") ||
           (model_.captioner().encoder() != nullptr &&
            model_.data().dev.points());
  }

  void ValidateData(ConfigProblems& problems) const override {
    const ConfigProblems::Scope scope(problems, "model.captioner");
    model_.ValidateData(problems);
  }

  Showcase Show(Forward<float>& forward, bool final) const override;
  absl::StatusOr<Prediction> Predict(
      Forward<float>& forward, const PredictionRequest& request,
      const PredictionOutputLimits&) const override {
    return model_.Predict(forward, request);
  }
  absl::StatusOr<TraceablePrediction<float>> Trace(
      Forward<float>& forward, const PredictionRequest& request,
      const TraceOptions& options) const override {
    return model_.Trace(forward, request, options);
  }

  std::map<std::string, std::string> Files() const override {
    return {{tokens_file_, model_.tokens().ToText()}};
  }
  std::map<std::string, double> TrainingDataNumbersToStore() const override {
    return model_.lengths().ToNumbers();
  }

 private:
  // Adds the attention of each word in `ids`. `ids` is the sentence after the
  // prompt.
  void ShowLooks(Forward<float>& forward, const CaptionSet& set, int64_t image,
                 absl::Span<const int32_t> ids, Showcase* showcase) const;

  const std::string tokens_file_;
  CaptionModel model_;
};

void CaptionsTask::ShowLooks(Forward<float>& forward, const CaptionSet& set,
                             int64_t image, absl::Span<const int32_t> ids,
                             Showcase* showcase) const {
  const VisionTransformer<float>& encoder = *model_.captioner().encoder();
  const CaptionTokens& spelled = model_.tokens();
  const Caption& caption = set.of(image).front();
  const bool right = spelled.Decode(ids) == model_.WithoutPrompt(caption);
  const std::vector<int32_t> quadrants = model_.TokenQuadrants(caption);
  const absl::Span<const int32_t> prompt = model_.prompt();
  std::vector<int32_t> all = {prompt.begin(), prompt.end()};
  all.insert(all.end(), ids.begin(), ids.end());
  const std::vector<float> looks =
      model_.CrossAttentionWeights(forward, set, image, all);
  const auto tokens = static_cast<size_t>(encoder.tokens());
  const auto first_patch = static_cast<size_t>(encoder.first_patch());
  const std::string note =
      right ? "Correct. Each picture shows where the model looks when it "
              "chooses one word. The outline marks the quadrant that the word "
              "is about."
            : absl::StrCat("Wrong. The canvas shows ",
                           absl::StrJoin(caption.words, " "), ".");
  LabelledMatrix map;
  map.title = absl::StrJoin(spelled.Decode(all), " ");
  map.columns = {"top left", "top right", "bottom left", "bottom right"};
  std::vector<double>& shares = map.heads.emplace_back();
  std::vector<WeightedImage> pictures;
  for (size_t i = prompt.size(); i < all.size(); ++i) {
    const auto word_alignment =
        absl::MakeConstSpan(looks).subspan(i * tokens, tokens);
    WeightedImage picture = WeightedImageOf(
        TracedImageOf(set.images, image, encoder),
        {word_alignment.begin() + first_patch, word_alignment.end()});
    picture.title = spelled.Name(all[i]);
    const int32_t quadrant = right && i < quadrants.size() ? quadrants[i] : -1;
    if (quadrant >= 0) {
      picture.gold.push_back({quadrant / 2 * picture.rows / 2,
                              quadrant % 2 * picture.columns / 2,
                              picture.rows / 2, picture.columns / 2});
      map.gold.push_back({static_cast<int>(map.rows.size()), quadrant});
    }
    pictures.push_back(std::move(picture));
    map.rows.push_back(spelled.Name(all[i]));
    for (const double share : model_.SumByQuadrant(word_alignment)) {
      shares.push_back(share);
    }
  }
  showcase->sections.push_back(
      {map.title, {AttentionCaution(), note, std::move(pictures)}});
  showcase->heat_maps.push_back(std::move(map));
}

Showcase CaptionsTask::Show(Forward<float>& forward, bool /*final*/) const {
  const CaptionSplits& data = model_.data();
  const auto [set, split] = ShownSplit(data);
  Showcase showcase;
  showcase.summary = absl::StrFormat(
      "Captions: %d training images of %d x %d pixels, %d %s.",
      data.train.size(), data.train.images.shape.height,
      data.train.images.shape.width, model_.tokens().ids().count,
      model_.tokens().words() ? "words" : "tokens");
  showcase.samples.title = absl::StrCat("Sentences of the ", split, " split");
  showcase.samples.input = "image";
  showcase.heat_map_caption =
      "Attention: each word on the left looks at the quadrants above";
  std::vector<int64_t> images(
      static_cast<size_t>(std::min(kSamples, set->size())));
  std::iota(images.begin(), images.end(), 0);
  std::vector<std::vector<int32_t>> written =
      model_.GenerateCaptions(forward, *set, images);
  const auto room =
      static_cast<size_t>(model_.captioner().decoder().longest_position() - 1 -
                          std::ssize(model_.prompt()));
  for (size_t i = 0; i < images.size(); ++i) {
    const Caption& caption = set->of(images[i]).front();
    std::vector<int32_t>& ids = written[i];
    showcase.samples.rows.push_back(
        {.input = absl::StrCat("image ", images[i]),
         .reference = absl::StrJoin(model_.WithoutPrompt(caption), " "),
         .output = absl::StrJoin(model_.tokens().Decode(ids), " ")});
    if (model_.captioner().encoder() == nullptr || i >= kGalleries) continue;
    // A sentence without an end may exceed the maximum length of the decoder.
    ids.resize(std::min(ids.size(), room));
    if (!ids.empty()) ShowLooks(forward, *set, images[i], ids, &showcase);
  }
  if (set == &data.test) {
    showcase.notes["test/cut_outputs"] = absl::StrFormat("of %d", set->size());
  }
  if (model_.captioner().encoder() != nullptr && set->points()) {
    showcase.notes[absl::StrCat(split, "/pointing_accuracy")] =
        absl::StrFormat("random guess: %.3f", 1.0 / kQuadrants);
    showcase.notes[absl::StrCat(split, "/pointing_mass")] =
        absl::StrFormat("uniform attention: %.3f", model_.UniformMass(*set));
  }
  return showcase;
}

}  // namespace

REGARD_PLUGINS(Captions) {
  plugins.tasks.Add<CaptionsTask>("sentences about images");
}

}  // namespace regard
