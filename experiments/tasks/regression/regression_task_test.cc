#include <memory>
#include <numeric>
#include <string>

#include "autodiff/tape.h"
#include "experiments/experiment.pb.h"
#include "experiments/tasks/built_in_plugins.h"
#include "experiments/tasks/experiment_config.h"
#include "experiments/tasks/task.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nn/config_problems.h"
#include "nn/forward.h"

namespace regard {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

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

TEST(RegressionTask, ABatchHasSoManyWeights) {
  Experiment config = ConfigOf(50000);
  const auto problem = [&] {
    ConfigProblems problems;
    BuildTask(config, BuiltInPlugins()).value()->ValidateData(problems);
    return problems.ok() ? "" : problems.problems()[0].path;
  };
  config.mutable_training()->set_batch_size(2684);
  EXPECT_THAT(problem(), IsEmpty());
  config.mutable_training()->set_batch_size(2685);
  EXPECT_EQ(problem(), "training.batch_size");
}

// 50 test points.
TEST(RegressionTask, AScoreMustKnowTheDistancesOfThePoints) {
  Experiment config = ConfigOf(10);
  auto& score =
      *config.mutable_model()->mutable_attention()->mutable_relative_dot();
  const auto problem = [&] {
    ConfigProblems problems;
    BuildTask(config, BuiltInPlugins()).value()->ValidateData(problems);
    return problems.ok() ? "" : problems.problems()[0].path;
  };
  score.set_max_position(49);
  EXPECT_EQ(problem(), "model.attention");
  score.set_max_position(50);
  EXPECT_THAT(problem(), IsEmpty());
  config.mutable_data()->mutable_nadaraya_watson()->set_points(51);
  EXPECT_EQ(problem(), "model.attention");
}

// To a score of history, each query is the first.
TEST(RegressionTask, ScoresOfHistorySeeNone) {
  Experiment config = ConfigOf(10);
  for (const bool located : {false, true}) {
    if (located) {
      config.mutable_model()->mutable_attention()->mutable_location_aware();
    } else {
      config.mutable_model()->mutable_attention()->mutable_coverage();
    }
    const std::unique_ptr<Task> task =
        BuildTask(config, BuiltInPlugins()).value();
    Tape<float> tape;
    Forward<float> no_gradients(tape, task->model().parameters(), nullptr);
    const LabelledMatrix map =
        task->Show(no_gradients, /*final=*/true).heat_maps.front();
    for (auto row = map.heads[0].begin(); row != map.heads[0].end();
         row += 10) {
      EXPECT_NEAR(std::accumulate(row, row + 10, 0.0), 1, 1e-5);
    }
  }
}

TEST(RegressionTask, HasNoLabelsToSmooth) {
  Experiment config = ConfigOf(10);
  config.mutable_loss()->set_label_smoothing(0.1);
  ConfigProblems problems;
  BuildTask(config, BuiltInPlugins()).value()->ValidateData(problems);
  ASSERT_THAT(problems.problems(), SizeIs(1));
  EXPECT_EQ(problems.problems()[0].path, "loss.label_smoothing");
}

}  // namespace
}  // namespace regard
