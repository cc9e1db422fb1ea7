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
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "attention/nadaraya_watson.h"
#include "data/column_scale.h"
#include "data/data_source.h"
#include "data/nadaraya_watson_data.h"
#include "experiments/experiment.pb.h"
#include "experiments/tasks/plugins.h"
#include "experiments/tasks/regression/training_points.h"
#include "experiments/tasks/task.h"
#include "files/number_text.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

// Maximum numbers of columns and rows of the heat map. They limit the size of
// the page.
constexpr size_t kMaxColumns = 200;
constexpr int64_t kMaxRows = 50;
// Maximum number of elements of a parameter that the report lists.
constexpr size_t kMaxLearnedNumbers = 64;
// Maximum number of weights in one batch, which has one weight for each pair of
// a point in the batch and a training point.
constexpr int64_t kMaxWeights = int64_t{1} << 27;
// Maximum absolute value of x in a request. The scores of a larger value could
// overflow. If no point were near, the prediction would be 0.
constexpr double kFarthest = 1e15;

class RegressionTask : public Task {
 public:
  using Options = NadarayaWatson;
  using Data = RegressionData;

  static constexpr const char* kModelFields[] = {"attention"};

  static std::vector<MetricInfo> Metrics() {
    return {{"mse", "", "mean squared error", Better::kLower,
             /*logarithmic=*/true}};
  }

  static void ValidateModelFields(const TaskContext& context,
                                  ConfigProblems& problems) {
    const Attention& config = context.config.model().attention();
    const ConfigProblems::Scope scope(problems, "attention");
    if (config.dropout() > 0) {
      problems.Note(
          "dropout",
          "has no effect: regression by attention does not apply dropout");
    }
    const ScorerInfo* const info = context.scorers.Find(config);
    if (info != nullptr && info->uses_history) {
      problems.Add(
          "",
          absl::StrCat(info->name,
                       " reads the weights of earlier queries, but the queries "
                       "of a regression have no order; use another score"));
    }
    // The width of the points of a table is only known after the file was read.
    if (!context.config.data().has_nadaraya_watson()) return;
    context.scorers.Validate(config, {.heads = 1, .query = 1, .key = 1},
                             problems);
  }

  static absl::Status RestoreData(const TaskContext&, const AnyDataSource&,
                                  const StoredFiles& kept, Data* data) {
    return UseStoredPoints(kept, data);
  }

  RegressionTask(const Options& options, Data data, const TaskContext& context)
      : Task(Metrics(), std::move(data.digests), std::move(data.notes)),
        batch_size_(context.config.training().batch_size()),
        smooths_labels_(context.config.loss().label_smoothing() > 0),
        learns_widths_(
            context.config.model().attention().has_parametric_gaussian()),
        model_(context.scorers, FittingAttention(context, data.training),
               options,
               {PointsOf(data.training), PointsOf(data.dev),
                PointsOf(data.test), std::move(data.x_scales), data.y_scale},
               context.model_options()),
        x_names_(std::move(data.x_names)),
        y_name_(std::move(data.y_name)),
        test_is_truth_(data.test_is_truth) {}

  Model<float>& model() override { return model_; }
  bool has_dev() const override { return model_.points().dev.size() > 0; }
  std::vector<EvaluatedSplitSize> EvaluatedSplitSizes() const override {
    return DevAndTestSizes(model_.points());
  }

  std::map<std::string, std::string> Files() const override {
    const CurveSplits& points = model_.points();
    RegressionData data;
    data.training = {points.train.x, points.train.y, points.train.width};
    data.x_names = x_names_;
    data.y_name = y_name_;
    data.x_scales = points.x_scales;
    data.y_scale = points.y_scale;
    return TrainingPointsFiles(data);
  }
  // The weights are valid for any points, because a kernel width that was
  // learned from other points can be trained further.
  bool WeightsDependOn(const std::string& /*file*/) const override {
    return false;
  }

  void ValidateData(ConfigProblems& problems) const override {
    for (const ConfigProblems::Problem& misfit : misfits_.problems()) {
      problems.AddWithin(misfit.path, misfit.within, misfit.message);
    }
    for (const std::string& note : misfits_.notes()) problems.Note("", note);
    if (smooths_labels_) {
      problems.Note("loss.label_smoothing",
                    "has no effect: regression predicts no classes");
    }
    const int64_t points = model_.num_examples();
    const int64_t farthest = points - 1;
    if (farthest > model_.MaxDistance()) {
      problems.Add(
          "model.attention",
          absl::StrCat("supports distances up to ", model_.MaxDistance(),
                       ", but the first and the last training point are ",
                       farthest, " apart"));
    }
    const int64_t most = kMaxWeights / points;
    if (std::min(batch_size_, points) <= most) return;
    problems.Add("training.batch_size",
                 absl::StrCat("must be at most ", most, " for ", points,
                              " training points: each point of a batch attends "
                              "to all of them"));
  }

  Showcase Show(Forward<float>& forward, bool /*final*/) const override {
    const CurvePoints& train = model_.points().train;
    const auto [shown, split] = ShownSplit(model_.points());
    Showcase showcase;
    showcase.summary = absl::StrCat(
        "Regression by attention: ", train.size(),
        test_is_truth_
            ? " noisy training points, and the curve that the model fits."
            : " training points. The model averages their values.");
    const std::vector<double> predicted = model_.Predict(forward, shown->x);
    if (train.width == 1) {
      showcase.plots.push_back(
          {.title = "Fitted curve",
           .x_label = x_names_[0],
           .y_label = y_name_,
           .series = {
               {"training points", train.x, train.y, SeriesStyle::kPoints},
               {test_is_truth_ ? "truth" : absl::StrCat(split, " points"),
                shown->x, shown->y,
                test_is_truth_ ? SeriesStyle::kDashedLine
                               : SeriesStyle::kPoints},
               {"model", shown->x, predicted, SeriesStyle::kLine}}});
    } else {
      showcase.plots.push_back(
          {.title = "Predictions",
           .x_label = y_name_,
           .y_label = "prediction",
           .series = {{absl::StrCat(split, " points"), shown->y, predicted,
                       SeriesStyle::kPoints}}});
    }
    if (Table learned = LearnedNumbers(forward); !learned.rows.empty()) {
      std::string text =
          learns_widths_
              ? "The score is -|(q - k) w|^2 / 2: the width of the kernel, "
                "which is the standard deviation of a Gaussian, is 1 / |w|."
              : "The parameters of the score.";
      if (!model_.points().x_scales.empty()) {
        absl::StrAppend(&text,
                        " The columns are standardised: the numbers are in "
                        "units of their standard deviations.");
      }
      showcase.sections.push_back(
          {"Learned parameters", {std::move(text), std::move(learned)}});
    }
    showcase.heat_maps.push_back(MapOf(forward, *shown, split));
    return showcase;
  }

  absl::StatusOr<Prediction> Predict(
      Forward<float>& forward, const PredictionRequest& request,
      const PredictionOutputLimits&) const override {
    REGARD_ASSIGN_OR_RETURN(const std::vector<double> x, Read(request));
    Prediction prediction = {.input = request.text};
    if (request.example >= 0) {
      prediction.input =
          absl::StrJoin(x, " ", [](std::string* text, double value) {
            absl::StrAppend(text, NumberText(value));
          });
      prediction.reference =
          NumberText(ShownSplit(model_.points())
                         .first->y[static_cast<size_t>(request.example)]);
    }
    prediction.values = model_.Predict(forward, x);
    prediction.text = TextOf(prediction.values[0]);
    return prediction;
  }

  absl::StatusOr<TraceablePrediction<float>> Trace(
      Forward<float>& forward, const PredictionRequest& request,
      const TraceOptions& options) const override {
    REGARD_RETURN_IF_ERROR(CheckNoTarget(options));
    REGARD_ASSIGN_OR_RETURN(std::vector<double> x, Read(request));
    const CurvePoints& train = model_.points().train;
    std::vector<std::string> columns;
    for (size_t i = 0; i < train.y.size(); ++i) {
      columns.push_back(train.width == 1 ? XText(train.x[i]) : absl::StrCat(i));
    }
    const double value = model_.Predict(forward, x)[0];
    TraceablePrediction<float> traced =
        model_.TraceAtPoint(std::move(x), std::move(columns));
    traced.labels.prediction = TextOf(value);
    return traced;
  }

 private:
  // Returns the text of a prediction. It has the precision of a float, unless
  // `value` was scaled back to the units of a standardized target.
  std::string TextOf(double value) const {
    return model_.points().y_scale == ColumnScale()
               ? NumberText(static_cast<float>(value))
               : NumberText(value);
  }

  // Returns x with the precision that the model reads.
  std::string XText(double x) const {
    return model_.points().x_scales.empty() ? NumberText(static_cast<float>(x))
                                            : NumberText(x);
  }

  // Parses the values of x, which are separated by spaces or commas.
  absl::StatusOr<std::vector<double>> Read(
      const PredictionRequest& request) const {
    const CurvePoints& points = *ShownSplit(model_.points()).first;
    const auto width = static_cast<size_t>(points.width);
    std::vector<double> x;
    if (request.example >= 0) {
      REGARD_RETURN_IF_ERROR(CheckExample(request, points.y.size()));
      const auto i = static_cast<size_t>(request.example);
      x = {points.x.data() + i * width, points.x.data() + (i + 1) * width};
    }
    for (const absl::string_view number : absl::StrSplit(
             request.text, absl::ByAnyChar(" ,\t"), absl::SkipEmpty())) {
      if (!absl::SimpleAtod(number, &x.emplace_back()) ||
          !std::isfinite(x.back())) {
        return absl::InvalidArgumentError(absl::StrCat(
            "expected a number for each of ", absl::StrJoin(x_names_, ", "),
            "; got '", number, "'"));
      }
      const std::vector<ColumnScale>& scales = model_.points().x_scales;
      const ColumnScale scale =
          x.size() <= scales.size() ? scales[x.size() - 1] : ColumnScale();
      if (std::abs(scale.Standardize(x.back())) > kFarthest) {
        return absl::InvalidArgumentError(absl::StrCat(
            "expected numbers from ", NumberText(scale.Restore(-kFarthest)),
            " to ", NumberText(scale.Restore(kFarthest)), "; got '", number,
            "'"));
      }
    }
    if (x.size() == width) return x;
    return absl::InvalidArgumentError(absl::StrCat(
        "expected a number for each of ", absl::StrJoin(x_names_, ", "),
        "; got ", x.size(), " numbers"));
  }

  // Returns a table with one row for each element of the small parameters. If a
  // parameter has one element per column of x, its elements have the names of
  // the columns.
  Table LearnedNumbers(Forward<float>& forward) const {
    Table table = {{"parameter", "", "value"}};
    if (learns_widths_) table.header.push_back("width");
    const ParameterStore<float>& parameters = forward.parameters();
    for (const ParameterInfo& info : parameters.parameters()) {
      const auto size = static_cast<size_t>(info.size());
      if (size > kMaxLearnedNumbers) continue;
      const absl::Span<const float> values =
          parameters.values().subspan(static_cast<size_t>(info.offset), size);
      for (size_t i = 0; i < size; ++i) {
        std::vector<std::string>& row = table.rows.emplace_back();
        row = {info.name,
               size == 1                 ? ""
               : size == x_names_.size() ? x_names_[i]
                                         : absl::StrCat(i),
               absl::StrFormat("%.4g", values[i])};
        if (learns_widths_) {
          row.push_back(absl::StrFormat("%.4g", 1 / std::abs(values[i])));
        }
      }
    }
    return table;
  }

  // Returns the attention of the config if its score fits the points.
  // Otherwise, adds the problems to `misfits_` and returns `average`, which
  // fits all points.
  Attention FittingAttention(const TaskContext& context, const Points& points) {
    Attention attention = context.config.model().attention();
    const ConfigProblems::Scope scope(misfits_, "model.attention");
    context.scorers.Validate(
        attention, {.heads = 1, .query = points.width, .key = points.width},
        misfits_);
    if (misfits_.ok()) return attention;
    attention.Clear();
    attention.mutable_average();
    return attention;
  }

  static CurvePoints PointsOf(Points& points) {
    return {std::move(points.x), std::move(points.y), points.width};
  }

  // Returns the label of a point on an axis: its x, or its index if x has
  // several columns.
  static std::string LabelOf(const CurvePoints& points, size_t i) {
    return points.width == 1 ? absl::StrFormat("%.2f", points.x[i])
                             : absl::StrCat(i);
  }

  LabelledMatrix MapOf(Forward<float>& forward, const CurvePoints& shown,
                       absl::string_view split) const {
    const CurvePoints& train = model_.points().train;
    const auto columns = static_cast<size_t>(train.size());
    const auto rows =
        static_cast<size_t>(std::min<int64_t>(shown.size(), kMaxRows));
    LabelledMatrix map;
    // The number of training points in each column of the map. A column has the
    // name of its first point.
    const size_t group = (columns + kMaxColumns - 1) / kMaxColumns;
    map.title =
        absl::StrCat("Attention of ", split, " points (rows) to ",
                     group > 1 ? absl::StrCat("groups of ", group, " ") : "",
                     "training points (columns)");
    for (size_t row = 0; row < rows; ++row) {
      map.rows.push_back(LabelOf(shown, row));
    }
    for (size_t i = 0; i < columns; i += group) {
      map.columns.push_back(LabelOf(train, i));
    }
    const std::vector<double> weights = model_.Weights(
        forward, absl::MakeConstSpan(shown.x).subspan(
                     0, rows * static_cast<size_t>(shown.width)));
    std::vector<double>& heat = map.heads.emplace_back();
    for (size_t row = 0; row < rows; ++row) {
      const auto row_weights =
          absl::MakeConstSpan(weights).subspan(row * columns, columns);
      for (size_t i = 0; i < row_weights.size(); i += group) {
        const auto group_weights = row_weights.subspan(i, group);
        heat.push_back(
            std::accumulate(group_weights.begin(), group_weights.end(), 0.0));
      }
    }
    return map;
  }

  const int64_t batch_size_;
  const bool smooths_labels_;
  const bool learns_widths_;
  // Problems of the configured score at the width of the points.
  ConfigProblems misfits_;
  NadarayaWatsonModel<float> model_;
  const std::vector<std::string> x_names_;
  const std::string y_name_;
  const bool test_is_truth_;
};

}  // namespace

REGARD_PLUGINS(Regression) {
  plugins.tasks.Add<RegressionTask>("regression by attention");
}

}  // namespace regard
