#include <cmath>
#include <fstream>
#include <memory>
#include <numeric>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "autodiff/tape.h"
#include "evaluation/prediction.h"
#include "experiments/experiment.pb.h"
#include "experiments/tasks/built_in_plugins.h"
#include "experiments/tasks/experiment_config.h"
#include "experiments/tasks/task.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "optimization/model.h"
#include "optimization/testing/metrics_of.h"
#include "options/config_problems.h"

namespace regard {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::SizeIs;
using ::testing::StartsWith;

Experiment ConfigOf(int points) {
  Experiment config;
  config.mutable_data()->mutable_nadaraya_watson()->set_points(points);
  config.mutable_model()->mutable_nadaraya_watson();
  config.mutable_model()->mutable_attention()->mutable_gaussian();
  return config;
}

LabelledMatrix MapOf(int points) {
  const std::unique_ptr<Task> task =
      BuildTask(ConfigOf(points), BuiltInPlugins()).value();
  Tape<float> tape;
  Forward<float> no_gradients(tape, task->model().parameters(), nullptr);
  return task->Show(no_gradients, /*final=*/true).heat_maps.front();
}

TEST(RegressionTask, ShowsEveryTrainingPoint) {
  const LabelledMatrix map = MapOf(200);
  EXPECT_THAT(map.columns, SizeIs(200));
  EXPECT_THAT(map.heads[0], SizeIs(map.rows.size() * 200));
  EXPECT_THAT(map.title, EndsWith("to training points (columns)"));
}

TEST(RegressionTask, ShowsManyTrainingPointsInGroupsWithoutLosingWeight) {
  const LabelledMatrix map = MapOf(50000);
  EXPECT_THAT(map.columns, SizeIs(200));
  EXPECT_THAT(map.heads[0], SizeIs(map.rows.size() * 200));
  EXPECT_THAT(map.title, HasSubstr("to groups of 250 training points"));
  for (auto row = map.heads[0].begin(); row != map.heads[0].end(); row += 200) {
    EXPECT_NEAR(std::accumulate(row, row + 200, 0.0), 1, 1e-5);
  }
}

// 201 points make 100 groups of two points and one group of one point.
TEST(RegressionTask, GroupsHaveAsManyPointsAsTheyNeed) {
  const LabelledMatrix map = MapOf(201);
  EXPECT_THAT(map.columns, SizeIs(101));
  EXPECT_THAT(map.rows, SizeIs(50));
  EXPECT_THAT(map.heads[0], SizeIs(50 * 101));
  EXPECT_THAT(map.title, HasSubstr("to groups of 2 training points"));
}

TEST(RegressionTask, DrawsTheTruthIfItIsKnown) {
  const std::unique_ptr<Task> task =
      BuildTask(ConfigOf(10), BuiltInPlugins()).value();
  Tape<float> tape;
  Forward<float> no_gradients(tape, task->model().parameters(), nullptr);
  const Showcase shown = task->Show(no_gradients, /*final=*/true);
  EXPECT_EQ(shown.summary,
            "Regression by attention: 10 noisy training points, and the curve "
            "that the model fits.");
  ASSERT_THAT(shown.plots, SizeIs(1));
  const Plot& plot = shown.plots[0];
  EXPECT_EQ(plot.title, "Fitted curve");
  EXPECT_EQ(plot.x_label, "x");
  EXPECT_EQ(plot.y_label, "y");
  ASSERT_THAT(plot.series, SizeIs(3));
  EXPECT_EQ(plot.series[0].name, "training points");
  EXPECT_EQ(plot.series[0].style, SeriesStyle::kPoints);
  EXPECT_EQ(plot.series[1].name, "truth");
  EXPECT_EQ(plot.series[1].style, SeriesStyle::kDashedLine);
  EXPECT_EQ(plot.series[2].name, "model");
  EXPECT_EQ(plot.series[2].style, SeriesStyle::kLine);
  EXPECT_EQ(shown.heat_maps[0].title,
            "Attention of test points (rows) to training points (columns)");
  // The points are 0 to 5 in steps of 0.1.
  EXPECT_EQ(shown.heat_maps[0].rows[3], "0.30");
}

TEST(RegressionTask, ListsLearnedWidths) {
  Experiment config = ConfigOf(10);
  config.mutable_model()
      ->mutable_attention()
      ->mutable_parametric_gaussian()
      ->mutable_scale()
      ->set_value(0.25);
  const std::unique_ptr<Task> task =
      BuildTask(config, BuiltInPlugins()).value();
  Tape<float> tape;
  Forward<float> no_gradients(tape, task->model().parameters(), nullptr);
  const Showcase shown = task->Show(no_gradients, /*final=*/true);
  ASSERT_THAT(shown.sections, SizeIs(1));
  EXPECT_EQ(shown.sections[0].title, "Learned parameters");
  const Table& table = std::get<Table>(shown.sections[0].blocks[1]);
  EXPECT_THAT(table.header, ElementsAre("parameter", "", "value", "width"));
  EXPECT_THAT(table.rows,
              ElementsAre(ElementsAre("attention.w", "", "0.25", "4")));
  // A model without parameters must have no table of parameters.
  const std::unique_ptr<Task> fixed =
      BuildTask(ConfigOf(10), BuiltInPlugins()).value();
  Forward<float> of_fixed(tape, fixed->model().parameters(), nullptr);
  EXPECT_THAT(fixed->Show(of_fixed, /*final=*/true).sections, IsEmpty());
}

TEST(RegressionTask, ABatchHasALimitedNumberOfWeights) {
  Experiment config = ConfigOf(50000);
  const auto problem = [&] {
    ConfigProblems problems;
    BuildTask(config, BuiltInPlugins()).value()->ValidateData(problems);
    return problems.ok() ? "" : problems.problems()[0].message;
  };
  config.mutable_training()->set_batch_size(2684);
  EXPECT_THAT(problem(), IsEmpty());
  config.mutable_training()->set_batch_size(2685);
  EXPECT_EQ(problem(),
            "must be at most 2684 for 50000 training points: each point of a "
            "batch attends to all of them");
}

TEST(RegressionTask, AScoreMustSupportTheDistancesOfPoints) {
  Experiment config = ConfigOf(10);
  auto& score =
      *config.mutable_model()->mutable_attention()->mutable_relative_dot();
  const auto problem = [&] {
    ConfigProblems problems;
    BuildTask(config, BuiltInPlugins()).value()->ValidateData(problems);
    return problems.ok() ? "" : problems.problems()[0].message;
  };
  score.set_max_position(9);
  EXPECT_EQ(
      problem(),
      "supports distances up to 8, but the first and the last training point "
      "are 9 apart");
  score.set_max_position(10);
  EXPECT_THAT(problem(), IsEmpty());
  config.mutable_data()->mutable_nadaraya_watson()->set_points(11);
  EXPECT_EQ(
      problem(),
      "supports distances up to 9, but the first and the last training point "
      "are 10 apart");
}

TEST(RegressionTask, RejectsScoresThatReadEarlierWeights) {
  Experiment config = ConfigOf(10);
  config.mutable_model()->mutable_attention()->mutable_coverage();
  ConfigProblems problems;
  ValidateExperiment(config, BuiltInPlugins(), problems);
  ASSERT_THAT(problems.problems(), SizeIs(1));
  EXPECT_EQ(problems.problems()[0].path, "model.attention");
  EXPECT_THAT(problems.problems()[0].message,
              HasSubstr("reads the weights of earlier queries"));
}

// The width of the points is only known from the file.
TEST(RegressionTask, AScoreMustFitTheWidthOfThePoints) {
  const std::string path = ::testing::TempDir() + "/wide.csv";
  std::ofstream(path) << "a,b,y\n1,2,3\n4,5,6\n7,8,9\n2,3,4\n5,7,1\n";
  Experiment config = ConfigOf(10);
  config.mutable_data()->set_path(path);
  config.mutable_data()->mutable_table();
  FormulaScore& formula =
      *config.mutable_model()->mutable_attention()->mutable_formula();
  formula.set_score("(W q) . (U k)");
  FormulaParameter& of_query = *formula.add_parameter();
  of_query.set_name("W");
  of_query.set_columns(2);
  const auto problems_of = [&] {
    ConfigProblems problems;
    ValidateExperiment(config, BuiltInPlugins(), problems);
    if (problems.ok()) {
      BuildTask(config, BuiltInPlugins()).value()->ValidateData(problems);
    }
    std::vector<std::string> texts;
    for (const auto& problem : problems.problems()) {
      texts.push_back(absl::StrCat(problem.path, ": ", problem.message));
    }
    return texts;
  };
  EXPECT_THAT(problems_of(), IsEmpty());
  of_query.set_columns(1);
  EXPECT_THAT(problems_of(),
              ElementsAre(AllOf(StartsWith("model.attention.formula"),
                                HasSubstr("'q' has width 2"))));
  config.mutable_data()->mutable_table()->set_columns("b");
  EXPECT_THAT(problems_of(), IsEmpty());
}

TEST(RegressionTask, ShowsPointsOfATable) {
  const std::string path = ::testing::TempDir() + "/table.csv";
  std::ofstream(path) << "a,b,price\n1,0,1\n2,5,2\n3,0,3\n9,0,4\n7,7,5\n";
  Experiment config;
  config.mutable_data()->set_path(path);
  TableConfig& table = *config.mutable_data()->mutable_table();
  table.set_shuffle(false);
  table.set_dev_fraction(0.2);
  table.set_test_fraction(0);
  config.mutable_model()->mutable_nadaraya_watson();
  config.mutable_model()->mutable_attention()->mutable_average();
  const std::unique_ptr<Task> task =
      BuildTask(config, BuiltInPlugins()).value();
  EXPECT_TRUE(task->has_dev());
  EXPECT_THAT(task->data_digests(), Contains(Key("data.path")));
  Tape<float> tape;
  Forward<float> no_gradients(tape, task->model().parameters(), nullptr);
  const Showcase shown = task->Show(no_gradients, /*final=*/true);
  const Series& series = shown.plots.front().series.front();
  EXPECT_EQ(shown.plots.front().x_label, "price");
  EXPECT_EQ(series.name, "dev points");
  EXPECT_THAT(series.xs, ElementsAre(5));
  EXPECT_THAT(series.ys, ElementsAre(2.5));
  EXPECT_THAT(shown.heat_maps.front().heads[0],
              ElementsAre(0.25, 0.25, 0.25, 0.25));
  EXPECT_THAT(shown.heat_maps.front().columns, ElementsAre("0", "1", "2", "3"));

  // With a single column of x, a curve connects the points.
  table.set_columns("a");
  const std::unique_ptr<Task> curve =
      BuildTask(config, BuiltInPlugins()).value();
  Forward<float> of_curve(tape, curve->model().parameters(), nullptr);
  const Plot plot = curve->Show(of_curve, /*final=*/true).plots.front();
  EXPECT_EQ(plot.x_label, "a");
  EXPECT_THAT(plot.series.front().xs, ElementsAre(1, 2, 3, 9));
}

// Compares the errors without training. The width of the kernel is near the
// distance between neighbouring times.
TEST(RegressionTask, TimesInSecondsNeedStandardizing) {
  const std::string path = ::testing::TempDir() + "/times.csv";
  std::string rows = "time,y\n";
  for (int i = 0; i < 200; ++i) {
    absl::StrAppendFormat(&rows, "%d,%.3f\n", 1700000000 + 10 * i,
                          1e6 + std::round(80 * std::sin(0.2 * i)) / 8);
  }
  std::ofstream(path) << rows;
  Experiment config;
  config.mutable_data()->set_path(path);
  TableConfig& table = *config.mutable_data()->mutable_table();
  config.mutable_model()->mutable_nadaraya_watson();
  auto& score = *config.mutable_model()
                     ->mutable_attention()
                     ->mutable_parametric_gaussian();
  const auto error_of = [&](bool standardized, double scale) {
    table.set_standardize(standardized);
    score.mutable_scale()->set_value(scale);
    const std::unique_ptr<Task> task =
        BuildTask(config, BuiltInPlugins()).value();
    EXPECT_THAT(task->Notes(), SizeIs(standardized ? 0 : 1));
    Tape<float> tape;
    Forward<float> forward(tape, task->model().parameters(), nullptr);
    // The answer must be in the units of the file, with all digits.
    const absl::StatusOr<Prediction> prediction =
        task->Predict(forward, {.text = "1700000075"}, {});
    EXPECT_TRUE(prediction.ok()) << prediction.status();
    double value = 0;
    EXPECT_TRUE(absl::SimpleAtod(prediction->text, &value));
    EXPECT_EQ(value, prediction->values[0]);
    EXPECT_NEAR(value, 1e6, 11);
    const auto example = task->Predict(forward, {.example = 3}, {});
    EXPECT_THAT(example->input, StartsWith("1700"));
    EXPECT_THAT(example->input, SizeIs(10));
    EXPECT_TRUE(absl::SimpleAtod(example->reference, &value));
    EXPECT_EQ(value * 8, std::round(value * 8));
    EXPECT_NE(value, 1e6);
    return MetricsOf(task->model().Evaluate(forward, Split::kDev)).at("mse");
  };
  // The standard deviation of the times is near 577.
  EXPECT_GT(error_of(false, 0.1), 5);
  EXPECT_LT(error_of(true, 57.7), 1);
}

TEST(RegressionTask, DropsNoWeights) {
  Experiment config = ConfigOf(10);
  config.mutable_model()->mutable_attention()->set_dropout(0.1);
  ConfigProblems problems;
  ValidateExperiment(config, BuiltInPlugins(), problems);
  EXPECT_TRUE(problems.ok());
  EXPECT_THAT(problems.notes(),
              Contains(AllOf(StartsWith("model.attention.dropout"),
                             HasSubstr("has no effect"))));
}

TEST(RegressionTask, HasNoLabelsToSmooth) {
  Experiment config = ConfigOf(10);
  config.mutable_loss()->set_label_smoothing(0.1);
  ConfigProblems problems;
  BuildTask(config, BuiltInPlugins()).value()->ValidateData(problems);
  EXPECT_TRUE(problems.ok());
  EXPECT_THAT(problems.notes(),
              Contains(AllOf(StartsWith("loss.label_smoothing"),
                             HasSubstr("has no effect"))));
}

}  // namespace
}  // namespace regard
