#include "experiments/training/weight_selection.h"

#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::vector<MetricInfo>& Metrics() {
  static const auto* metrics = new std::vector<MetricInfo>{
      {"bleu", "", "", Better::kHigher}, {"loss", "", "", Better::kLower}};
  return *metrics;
}

Training Config(const char* metric, int patience, double min_gain) {
  Training training;
  EarlyStopping& stopping = *training.mutable_early_stopping();
  stopping.set_metric(metric);
  stopping.set_patience(patience);
  stopping.set_min_gain(min_gain);
  return training;
}

TEST(WeightSelectionTest, IsInactiveUnlessAskedFor) {
  WeightSelection selection(Training(), Metrics());
  EXPECT_FALSE(selection.active());
  selection.Observe({{"dev/bleu", 1}}, {1.0F});
  EXPECT_THAT(selection.best(), IsEmpty());
  EXPECT_THAT(selection.Mean(), IsEmpty());
  EXPECT_FALSE(selection.exhausted());
}

TEST(WeightSelectionTest, KeepsTheBestByItsDirection) {
  WeightSelection bleu(Config("dev/bleu", 2, 0), Metrics());
  WeightSelection loss(Config("dev/loss", 2, 0), Metrics());
  for (const float value : {3.0F, 5.0F, 4.0F}) {
    bleu.Observe({{"dev/bleu", value}}, {value});
    loss.Observe({{"dev/loss", value}}, {value});
  }
  EXPECT_THAT(bleu.best(), ElementsAre(5.0F));
  EXPECT_THAT(loss.best(), ElementsAre(3.0F));
  EXPECT_FALSE(bleu.exhausted());
  EXPECT_TRUE(loss.exhausted());
}

TEST(WeightSelectionTest, AGainHasASize) {
  WeightSelection selection(Config("dev/bleu", 1, 0.5), Metrics());
  selection.Observe({{"dev/bleu", 1}}, {1.0F});
  selection.Observe({{"dev/bleu", 1.5}}, {2.0F});
  EXPECT_THAT(selection.best(), ElementsAre(1.0F));
  EXPECT_TRUE(selection.exhausted());
}

TEST(WeightSelectionTest, NotANumberIsNoGain) {
  WeightSelection selection(Config("dev/loss", 5, 0), Metrics());
  const double nan = std::numeric_limits<double>::quiet_NaN();
  selection.Observe({{"dev/loss", nan}}, {1.0F});
  EXPECT_THAT(selection.best(), IsEmpty());
  selection.Observe({{"dev/loss", 9}}, {2.0F});
  selection.Observe({{"dev/loss", nan}}, {3.0F});
  EXPECT_THAT(selection.best(), ElementsAre(2.0F));
  EXPECT_EQ(selection.evaluations_without_gain(), 1);
}

TEST(WeightSelectionTest, AveragesTheLastEvaluations) {
  Training training;
  training.set_average(2);
  WeightSelection selection(training, Metrics());
  EXPECT_TRUE(selection.active());
  selection.Observe({}, {100.0F, 0.0F});
  EXPECT_THAT(selection.Mean(), ElementsAre(100.0F, 0.0F));
  selection.Observe({}, {1.0F, 2.0F});
  selection.Observe({}, {3.0F, 8.0F});
  EXPECT_THAT(selection.Mean(), ElementsAre(2.0F, 5.0F));
}

TEST(WeightSelectionTest, GoesOnWhereItWas) {
  Training training = Config("dev/bleu", 2, 0);
  training.set_average(2);
  WeightSelection before(training, Metrics());
  before.Observe({{"dev/bleu", 4}}, {1.0F});
  before.Observe({{"dev/bleu", 3}}, {2.0F});
  WeightSelection after(training, Metrics());
  after.Restore(before.best_value(), before.evaluations_without_gain(),
                {before.best().begin(), before.best().end()},
                before.snapshots());
  after.Observe({{"dev/bleu", 3.5}}, {4.0F});
  EXPECT_TRUE(after.exhausted());
  EXPECT_THAT(after.best(), ElementsAre(1.0F));
  EXPECT_THAT(after.Mean(), ElementsAre(3.0F));
}

}  // namespace
}  // namespace regard
