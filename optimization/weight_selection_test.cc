#include "optimization/weight_selection.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "autodiff/worker_pool.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

WeightSelectionOptions Best(const char* metric, int patience, double min_gain) {
  return {.metric = metric,
          .higher_is_better = metric == std::string("dev/bleu"),
          .min_gain = min_gain,
          .patience = patience};
}

TEST(WeightSelectionTest, IsInactiveUnlessAskedFor) {
  WeightSelection selection(WeightSelectionOptions{});
  EXPECT_FALSE(selection.active());
  selection.Observe(0, {{"dev/bleu", 1}}, {1.0F});
  EXPECT_THAT(selection.chosen(), IsEmpty());
  EXPECT_THAT(selection.AverageSnapshots(), IsEmpty());
  EXPECT_FALSE(selection.exhausted());
}

TEST(WeightSelectionTest, KeepsTheBestByItsDirection) {
  WeightSelection bleu(Best("dev/bleu", 2, 0));
  WeightSelection loss(Best("dev/loss", 2, 0));
  for (const float value : {3.0F, 5.0F, 4.0F}) {
    bleu.Observe(0, {{"dev/bleu", value}}, {value});
    loss.Observe(0, {{"dev/loss", value}}, {value});
  }
  EXPECT_THAT(bleu.chosen(), ElementsAre(5.0F));
  EXPECT_THAT(loss.chosen(), ElementsAre(3.0F));
  EXPECT_FALSE(bleu.exhausted());
  EXPECT_TRUE(loss.exhausted());
}

TEST(WeightSelectionTest, AGainHasASize) {
  WeightSelection selection(Best("dev/bleu", 1, 0.5));
  selection.Observe(0, {{"dev/bleu", 1}}, {1.0F});
  selection.Observe(0, {{"dev/bleu", 1.5}}, {2.0F});
  EXPECT_THAT(selection.chosen(), ElementsAre(1.0F));
  EXPECT_TRUE(selection.exhausted());
  WeightSelection loss(Best("dev/loss", 1, 0.5));
  loss.Observe(0, {{"dev/loss", 1.5}}, {1.0F});
  loss.Observe(0, {{"dev/loss", 1}}, {2.0F});
  EXPECT_THAT(loss.chosen(), ElementsAre(1.0F));
  EXPECT_TRUE(loss.exhausted());
}

TEST(WeightSelectionTest, NanIsNotAGain) {
  WeightSelection selection(Best("dev/loss", 5, 0));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  selection.Observe(0, {{"dev/loss", nan}}, {1.0F});
  EXPECT_THAT(selection.chosen(), IsEmpty());
  selection.Observe(0, {{"dev/loss", 9}}, {2.0F});
  selection.Observe(0, {{"dev/loss", nan}}, {3.0F});
  EXPECT_THAT(selection.chosen(), ElementsAre(2.0F));
  EXPECT_EQ(selection.state().evaluations_without_gain, 1);
}

TEST(WeightSelectionTest, AveragesTheLastEvaluations) {
  WeightSelectionOptions options = {.average = 2};
  WeightSelection selection(options);
  EXPECT_TRUE(selection.active());
  selection.Observe(0, {}, {100.0F, 0.0F});
  EXPECT_THAT(selection.AverageSnapshots(), ElementsAre(100.0F, 0.0F));
  selection.Observe(0, {}, {1.0F, 2.0F});
  selection.Observe(0, {}, {3.0F, 8.0F});
  EXPECT_THAT(selection.AverageSnapshots(), ElementsAre(2.0F, 5.0F));
}

TEST(WeightSelectionTest, TheMovingAverageMatchesPyTorch) {
  WeightSelectionOptions options = {.ema_decay = 0.75};
  WeightSelection selection(options);
  EXPECT_TRUE(selection.active());
  EXPECT_FALSE(selection.observes());
  WorkerPool pool(1);
  EXPECT_THAT(selection.chosen(), IsEmpty());
  // The average begins as the first weights. Then each step sets it to 3/4 of
  // the average plus 1/4 of the new weights.
  selection.UpdateEma({8.0F, -4.0F}, pool);
  EXPECT_THAT(selection.chosen(), ElementsAre(8.0F, -4.0F));
  selection.UpdateEma({4.0F, 0.0F}, pool);
  EXPECT_THAT(selection.chosen(), ElementsAre(7.0F, -3.0F));
  selection.UpdateEma({3.0F, 1.0F}, pool);
  EXPECT_THAT(selection.chosen(), ElementsAre(6.0F, -2.0F));
  EXPECT_THAT(selection.AverageSnapshots(), IsEmpty());
}

TEST(WeightSelectionTest, TheBestMovingAverageIsKept) {
  WeightSelectionOptions options = Best("dev/loss", 3, 0);
  options.ema_decay = 0.5;
  WeightSelection selection(options);
  WorkerPool pool(1);
  selection.UpdateEma({2.0F}, pool);
  selection.Observe(1, {{"dev/loss", 1}}, selection.ema());
  selection.UpdateEma({4.0F}, pool);
  selection.Observe(2, {{"dev/loss", 2}}, selection.ema());
  EXPECT_THAT(selection.chosen(), ElementsAre(2.0F));
  EXPECT_THAT(selection.ema(), ElementsAre(3.0F));
}

TEST(WeightSelectionTest, TheMovingAverageDoesNotDependOnThreads) {
  constexpr size_t kSize = 50001;
  WeightSelectionOptions options = {.ema_decay = 0.9};
  std::vector<std::vector<float>> averages;
  for (const int threads : {1, 3}) {
    WeightSelection selection(options);
    WorkerPool pool(threads);
    std::vector<float> weights(kSize);
    for (int update = 0; update < 3; ++update) {
      for (size_t i = 0; i < kSize; ++i) {
        weights[i] = std::sin(static_cast<float>(i + 7 * update));
      }
      selection.UpdateEma(weights, pool);
    }
    averages.emplace_back(selection.chosen().begin(), selection.chosen().end());
  }
  EXPECT_EQ(averages[0], averages[1]);
  EXPECT_EQ(averages[0].size(), kSize);
}

TEST(WeightSelectionTest, ContinuesFromASavedState) {
  WeightSelectionOptions options = Best("dev/bleu", 2, 0);
  options.average = 2;
  WeightSelection before(options);
  before.Observe(0, {{"dev/bleu", 4}}, {1.0F});
  before.Observe(0, {{"dev/bleu", 3}}, {2.0F});
  WeightSelection after(options);
  after.set_state(before.state());
  after.Observe(0, {{"dev/bleu", 3.5}}, {4.0F});
  EXPECT_TRUE(after.exhausted());
  EXPECT_THAT(after.chosen(), ElementsAre(1.0F));
  EXPECT_THAT(after.AverageSnapshots(), ElementsAre(3.0F));
}

}  // namespace
}  // namespace regard
