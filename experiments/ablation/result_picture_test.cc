#include "experiments/ablation/result_picture.h"

#include <cmath>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "evaluation/metric.h"
#include "experiments/ablation/comparison.h"
#include "experiments/ablation/grid.h"
#include "experiments/report/run_results.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Returns runs with two scores, two widths and `seeds` seeds. The accuracy is
// higher by 1 with dot, and does not depend on the width.
ResultGrid TwoByTwo(int seeds) {
  ResultGrid grid;
  grid.axes = {{"score", {{"additive", {}}, {"dot", {}}}, 0},
               {"width", {{"8", {}}, {"16", {}}}, 0}};
  for (int seed = 0; seed < seeds; ++seed) {
    for (size_t score = 0; score < 2; ++score) {
      for (size_t width = 0; width < 2; ++width) {
        ComparedRun& run = grid.runs.emplace_back();
        run.coordinates = {score, width};
        run.seed = std::to_string(seed);
        run.metric_infos = {{"accuracy", "", "", Better::kHigher},
                            {"loss", "", "", Better::kLower}};
        const double swing = (seed % 2 == 0) == (width == 0) ? 0.25 : 0.5;
        run.status.metrics = {
            {"test/accuracy", static_cast<double>(score) + swing},
            {"dev/loss", 1},
            {"test/loss", 2 - static_cast<double>(score)}};
      }
    }
  }
  return grid;
}

std::string Words(const ResultGrid& grid) {
  return ResultInWords(grid, CompareWithBaselines(grid));
}

TEST(ResultInWordsTest, SaysWhatDiffersAndWhatDoesNot) {
  EXPECT_EQ(
      Words(TwoByTwo(8)),
      "dot has a significantly higher (better) test/accuracy than "
      "additive: 1.375 instead of 0.375. The difference over 8 seeds is 1 "
      "[1, 1] (corrected p-value 0.016). These runs do not show that width 16 "
      "differs "
      "from width 8 in test/accuracy.");
}

TEST(ResultInWordsTest, JudgesByTheDirectionOfTheMetric) {
  ResultGrid grid = TwoByTwo(8);
  grid.primary = "test/loss";
  for (ComparedRun& run : grid.runs) {
    run.status.metrics["test/loss"] +=
        std::stod(run.seed) * 0.125 * static_cast<double>(run.coordinates[0]);
  }
  EXPECT_EQ(Words(grid).substr(0, 69),
            "dot has a significantly lower (better) test/loss than additive: "
            "1.438");
}

TEST(ResultInWordsTest, SaysThatSeedsAreTooFew) {
  EXPECT_EQ(Words(TwoByTwo(3)),
            "These runs do not show that dot differs from additive in "
            "test/accuracy. These runs do not show that width 16 differs from "
            "width 8 in test/accuracy. With 3 seeds, no difference can be "
            "significant: 2 comparisons require at least 7.");
}

TEST(ResultInWordsTest, DoesNotJudgeIfRunsAreMissing) {
  ResultGrid grid = TwoByTwo(8);
  ComparedRun& run = grid.runs[3];  // score dot, width 16
  run.missing = "failed";
  run.status.metrics.clear();
  EXPECT_EQ(Words(grid),
            "dot is not compared with additive, because runs are missing. "
            "width 16 is not compared with width 8, because runs are "
            "missing.");
}

TEST(ResultInWordsTest, BeginsWithWhatDiffers) {
  ResultGrid grid = TwoByTwo(8);
  std::swap(grid.axes[0], grid.axes[1]);
  for (ComparedRun& run : grid.runs) {
    std::swap(run.coordinates[0], run.coordinates[1]);
  }
  EXPECT_EQ(Words(grid), Words(TwoByTwo(8)));
  grid.runs[0].status.metrics["test/accuracy"] = INFINITY;
  EXPECT_EQ(Words(grid),
            "width 16 is not compared with width 8, because values are not "
            "finite. dot is not compared with additive, because values are "
            "not finite.");
}

TEST(ResultPictureTest, ShowsEachAxisAndEachCombination) {
  const ResultGrid grid = TwoByTwo(8);
  const std::vector<Block> blocks =
      ResultBlocks(grid, CompareWithBaselines(grid));
  ASSERT_THAT(blocks, SizeIs(4));
  const auto& scores = std::get<ForestPlot>(blocks[1]);
  EXPECT_EQ(scores.title, "test/accuracy by score");
  EXPECT_EQ(scores.metric, "test/accuracy (higher is better)");
  ASSERT_THAT(scores.rows, SizeIs(2));
  EXPECT_EQ(scores.rows[0].label, scores.baseline);
  EXPECT_THAT(scores.rows[0].differences, IsEmpty());
  // The values must be means over both widths.
  EXPECT_THAT(scores.rows[1].values, ElementsAre(1.375, 1.375, 1.375, 1.375,
                                                 1.375, 1.375, 1.375, 1.375));
  EXPECT_THAT(scores.rows[1].differences, ElementsAre(1, 1, 1, 1, 1, 1, 1, 1));
  EXPECT_EQ(scores.rows[1].tone, ForestRow::Tone::kBetter);
  const auto& widths = std::get<ForestPlot>(blocks[2]);
  EXPECT_EQ(widths.rows[1].verdict, "not significant");
  EXPECT_EQ(widths.rows[1].tone, ForestRow::Tone::kNone);
  EXPECT_EQ(widths.rows[1].low, -0.25);
  EXPECT_EQ(widths.rows[1].high, 0.25);
  const auto& arms = std::get<ForestPlot>(blocks[3]);
  EXPECT_EQ(arms.baseline, "");
  ASSERT_THAT(arms.rows, SizeIs(4));
  EXPECT_EQ(arms.rows[3].label, "dot, width 16");
  EXPECT_THAT(arms.rows[3].values, SizeIs(8));
}

TEST(PrimaryMetricTest, IsTheFirstThatTheTaskDeclaresOnTest) {
  ResultGrid grid = TwoByTwo(1);
  EXPECT_EQ(PrimaryMetric(grid), "test/accuracy");
  for (ComparedRun& run : grid.runs) {
    std::swap(run.metric_infos[0], run.metric_infos[1]);
  }
  EXPECT_EQ(PrimaryMetric(grid), "test/loss");
  grid.metrics = {"dev/loss"};
  EXPECT_EQ(PrimaryMetric(grid), "dev/loss");
  grid.primary = "test/accuracy";
  EXPECT_EQ(PrimaryMetric(grid), "test/accuracy");
}

TEST(PrimaryMetricTest, IsShownEvenIfItIsNotOnTest) {
  ResultGrid grid = TwoByTwo(1);
  grid.primary = "dev/loss";
  EXPECT_THAT(MetricsToShow(grid),
              ElementsAre("dev/loss", "test/accuracy", "test/loss"));
  EXPECT_THAT(ResultBlocks({}, {}), IsEmpty());
}

}  // namespace
}  // namespace regard
