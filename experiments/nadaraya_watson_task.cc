#include "experiments/nadaraya_watson_task.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "attention/nadaraya_watson.h"
#include "experiments/data/nadaraya_watson_data.h"

namespace regard {

namespace {

class NadarayaWatsonTask : public Task {
 public:
  NadarayaWatsonTask(const Experiment& config, const ScorerRegistry& scorers,
                     NadarayaWatsonData data)
      : model_(scorers, config.model().attention(),
               config.model().nadaraya_watson(),
               {std::move(data.training.x), std::move(data.training.y)},
               {std::move(data.test.x), std::move(data.test.y)},
               config.loss().normalizer() != Loss::SUM, config.loss().scale(),
               config.seed()) {}

  Model<float>& model() override { return model_; }

  Showcase Show(Forward<float>& forward) const override {
    const CurvePoints& train = model_.train();
    const CurvePoints& test = model_.test();
    Showcase showcase;
    showcase.summary = absl::StrFormat(
        "Regression by attention: %d noisy points, and the curve that the "
        "model "
        "draws through them.",
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

  std::map<std::string, std::string> Files() const override { return {}; }
  std::map<std::string, std::string> DataDigests() const override { return {}; }

 private:
  NadarayaWatsonModel<float> model_;
};

}  // namespace

std::unique_ptr<Task> MakeNadarayaWatsonTask(const Experiment& config,
                                             const ScorerRegistry& scorers) {
  NadarayaWatsonOptions options;
  options.training_points = config.data().nadaraya_watson().points();
  options.exponent = config.data().nadaraya_watson().exponent();
  options.noise = config.data().nadaraya_watson().noise();
  return std::make_unique<NadarayaWatsonTask>(
      config, scorers, MakeNadarayaWatsonData(options, config.seed()));
}

}  // namespace regard
