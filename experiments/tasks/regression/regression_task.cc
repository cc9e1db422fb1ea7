#include "experiments/tasks/regression/regression_task.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "attention/nadaraya_watson.h"
#include "experiments/tasks/regression/nadaraya_watson_data.h"
#include "experiments/tasks/task.h"

namespace regard {

namespace {

class NadarayaWatsonSource : public DataSource<NadarayaWatsonData> {
 public:
  using Options = NadarayaWatsonDataConfig;

  static void Validate(const Options& options, ConfigProblems& problems) {
    problems.RequireInRange("points", options.points(), 2, 1e5);
    problems.RequireInRange("noise", options.noise(), 0, 100);
    problems.RequireInRange("exponent", options.exponent(), 0, 10);
  }

  explicit NadarayaWatsonSource(const Options& options) : options_(options) {}

  absl::StatusOr<NadarayaWatsonData> Load(
      const DataRequest& request) const override {
    return MakeNadarayaWatsonData({.training_points = options_.points(),
                                   .exponent = options_.exponent(),
                                   .noise = options_.noise()},
                                  request.seed);
  }

 private:
  const Options options_;
};

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
        model_(context.scorers, context.config.model().attention(), options,
               {std::move(data.training.x), std::move(data.training.y)},
               {std::move(data.test.x), std::move(data.test.y)},
               context.config.loss().normalizer() != Loss::SUM,
               context.config.loss().scale(), context.config.seed()) {}

  Model<float>& model() override { return model_; }

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
    map.title = "Attention of test points (rows) to training points (columns)";
    for (const double x : test.x)
      map.rows.push_back(absl::StrFormat("%.2f", x));
    for (const double x : train.x) {
      map.columns.push_back(absl::StrFormat("%.2f", x));
    }
    map.heads.push_back(model_.Weights(forward, test.x));
    showcase.heat_maps.push_back(std::move(map));
    return showcase;
  }

 private:
  NadarayaWatsonModel<float> model_;
};

}  // namespace

void RegisterRegression(Plugins& plugins) {
  plugins.data.Add<NadarayaWatsonSource>("noisy points of a curve");
  plugins.tasks.Add<RegressionTask>("regression by attention");
}

}  // namespace regard
