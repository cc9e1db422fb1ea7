#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/span.h"
#include "attention/nadaraya_watson.h"
#include "data/nadaraya_watson_data.h"
#include "experiments/tasks/plugins.h"
#include "experiments/tasks/task.h"

namespace regard {

namespace {

// Columns of the heat map, so that the page stays small.
constexpr size_t kMostColumns = 200;
// Weights of one batch: points of the batch times training points.
constexpr int64_t kMostWeights = int64_t{1} << 27;

class RegressionTask : public Task {
 public:
  using Options = NadarayaWatson;
  using Data = NadarayaWatsonData;

  static constexpr const char* kParts[] = {"attention"};

  static std::vector<MetricInfo> Metrics() {
    return {{"mse", "", "mean squared error", Better::kLower,
             /*logarithmic=*/true}};
  }

  static void ValidateParts(const TaskContext& context,
                            ConfigProblems& problems) {
    const Attention& config = context.config.model().attention();
    const ConfigProblems::Scope scope(problems, "attention");
    if (config.dropout() > 0) {
      problems.Add("dropout", "regression by attention drops no weights");
    }
    context.scorers.Validate(config, {.heads = 1, .query = 1, .key = 1},
                             problems);
  }

  RegressionTask(const Options& options, Data data, const TaskContext& context)
      : Task(Metrics()),
        batch_size_(context.config.training().batch_size()),
        smooths_labels_(context.config.loss().label_smoothing() > 0),
        model_(context.scorers, context.config.model().attention(), options,
               {std::move(data.training.x), std::move(data.training.y)},
               {std::move(data.test.x), std::move(data.test.y)},
               context.model_options()) {}

  Model<float>& model() override { return model_; }

  void ValidateData(ConfigProblems& problems) const override {
    if (smooths_labels_) {
      problems.Add("loss.label_smoothing", "regression predicts no classes");
    }
    const int64_t points = model_.num_examples();
    const auto farthest = static_cast<int64_t>(
        std::max(model_.train().x.size(), model_.test().x.size()) - 1);
    if (farthest > model_.LongestDistance()) {
      problems.Add(
          "model.attention",
          absl::StrCat("knows distances up to ", model_.LongestDistance(),
                       "; the points, in their order, have distances "
                       "up to ",
                       farthest));
    }
    const int64_t most = kMostWeights / points;
    if (std::min(batch_size_, points) <= most) return;
    problems.Add("training.batch_size",
                 absl::StrCat("must be at most ", most, " for ", points,
                              " training points: each point of a batch attends "
                              "to all of them"));
  }

  Showcase Show(Forward<float>& forward, bool /*final*/) const override {
    const CurvePoints& train = model_.train();
    const CurvePoints& test = model_.test();
    Showcase showcase;
    showcase.summary = absl::StrFormat(
        "Regression by attention: %d noisy points, and the curve that the "
        "model draws through them.",
        train.x.size());
    showcase.plots.push_back(
        {.title = "Fitted curve",
         .x_label = "x",
         .y_label = "y",
         .series = {{"training points", train.x, train.y, SeriesStyle::kPoints},
                    {"truth", test.x, test.y, SeriesStyle::kDashedLine},
                    {"model", test.x, model_.Predict(forward, test.x),
                     SeriesStyle::kLine}}});
    LabelledMatrix map;
    // Training points of a column; the first one names it.
    const size_t group = (train.x.size() + kMostColumns - 1) / kMostColumns;
    map.title =
        absl::StrCat("Attention of test points (rows) to ",
                     group > 1 ? absl::StrCat("groups of ", group, " ") : "",
                     "training points (columns)");
    for (const double x : test.x)
      map.rows.push_back(absl::StrFormat("%.2f", x));
    for (size_t i = 0; i < train.x.size(); i += group) {
      map.columns.push_back(absl::StrFormat("%.2f", train.x[i]));
    }
    const std::vector<double> weights = model_.Weights(forward, test.x);
    std::vector<double>& shown = map.heads.emplace_back();
    for (size_t row = 0; row < test.x.size(); ++row) {
      const auto of_row = absl::MakeConstSpan(weights).subspan(
          row * train.x.size(), train.x.size());
      for (size_t i = 0; i < of_row.size(); i += group) {
        const auto of_group = of_row.subspan(i, group);
        shown.push_back(std::accumulate(of_group.begin(), of_group.end(), 0.0));
      }
    }
    showcase.heat_maps.push_back(std::move(map));
    return showcase;
  }

 private:
  const int64_t batch_size_;
  const bool smooths_labels_;
  NadarayaWatsonModel<float> model_;
};

}  // namespace

REGARD_PLUGINS(Regression) {
  plugins.tasks.Add<RegressionTask>("regression by attention");
}

}  // namespace regard
