#include "nn/schedule.h"

#include <cmath>
#include <string>

#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "nn/optimizer.pb.h"

namespace regard {
namespace {

Schedule Make(const std::string& text) {
  OptimizerConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config));
  return Schedule(config);
}

TEST(ScheduleTest, ConstantIsTheDefault) {
  const Schedule schedule = Make("learning_rate: 0.25");
  EXPECT_EQ(schedule.LearningRate(1), 0.25);
  EXPECT_EQ(schedule.LearningRate(1000000), 0.25);
  EXPECT_EQ(schedule.metric(), "");
}

TEST(ScheduleTest, ExponentialFallsInSteps) {
  const Schedule schedule = Make(
      "learning_rate: 8 schedule { exponential { decay: 0.5 interval: 10 } }");
  EXPECT_EQ(schedule.LearningRate(1), 8);
  EXPECT_EQ(schedule.LearningRate(10), 8);
  EXPECT_EQ(schedule.LearningRate(11), 4);
  EXPECT_EQ(schedule.LearningRate(31), 1);
}

TEST(ScheduleTest, InverseSquareRootWarmsUpThenFalls) {
  const Schedule schedule =
      Make("learning_rate: 2 schedule { inverse_square_root { warmup: 100 } }");
  EXPECT_DOUBLE_EQ(schedule.LearningRate(1), 0.02);
  EXPECT_DOUBLE_EQ(schedule.LearningRate(50), 1);
  EXPECT_DOUBLE_EQ(schedule.LearningRate(100), 2);
  EXPECT_DOUBLE_EQ(schedule.LearningRate(400), 1);
}

TEST(ScheduleTest, PlateauWaitsThenReduces) {
  Schedule schedule = Make(
      "learning_rate: 1 schedule { reduce_on_plateau {"
      " patience: 1 decay: 0.5 min_learning_rate: 0.3 threshold: 0.01 } }");
  EXPECT_EQ(schedule.metric(), "dev/loss");
  schedule.Observe(10);
  schedule.Observe(9.95);  // not 1 % better
  EXPECT_EQ(schedule.LearningRate(2), 1);
  schedule.Observe(10);
  EXPECT_EQ(schedule.LearningRate(3), 0.5);
  schedule.Observe(5);
  schedule.Observe(6);
  schedule.Observe(NAN);  // no improvement either
  EXPECT_EQ(schedule.LearningRate(6), 0.3);
}

TEST(ScheduleTest, PlateauOfAMetricToMaximise) {
  Schedule schedule = Make(
      "learning_rate: 1 schedule { reduce_on_plateau { metric: 'dev/bleu'"
      " higher_is_better: true patience: 0 } }");
  schedule.Observe(0.1);
  schedule.Observe(0.2);
  EXPECT_EQ(schedule.LearningRate(1), 1);
  schedule.Observe(0.2);
  EXPECT_EQ(schedule.LearningRate(1), 0.5);
}

TEST(ScheduleTest, StateContinuesWhereItStopped) {
  const std::string text =
      "learning_rate: 1 schedule { reduce_on_plateau { patience: 1 } }";
  Schedule whole = Make(text);
  Schedule first = Make(text);
  for (const double metric : {3.0, 3.0}) {
    whole.Observe(metric);
    first.Observe(metric);
  }
  Schedule second = Make(text);
  second.set_state(first.state());
  whole.Observe(3);
  second.Observe(3);
  EXPECT_EQ(whole.LearningRate(1), 0.5);
  EXPECT_EQ(second.LearningRate(1), 0.5);
}

TEST(ScheduleTest, IntegerPowersAreExactWhereTheyCanBe) {
  EXPECT_EQ(IntegerPower(0.5, 0), 1);
  EXPECT_EQ(IntegerPower(0.5, 13), 0x1p-13);
  EXPECT_EQ(IntegerPower(3, 5), 243);
}

}  // namespace
}  // namespace regard
