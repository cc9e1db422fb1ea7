#include "optimization/schedules/schedules.h"

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>

#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "optimization/optimizer.pb.h"
#include "optimization/optimizer_registry.h"
#include "optimization/schedule.h"
#include "optimization/schedules/built_in_schedules.h"

namespace regard {
namespace {

std::unique_ptr<Schedule> Make(const std::string& text) {
  OptimizerConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config));
  ScheduleRegistry schedules;
  RegisterBuiltInSchedules(schedules);
  return schedules.Create(
      config.schedule(),
      {.learning_rate = config.learning_rate(), .total_updates = 210});
}

TEST(ScheduleTest, ConstantIsTheDefault) {
  const std::unique_ptr<Schedule> schedule = Make("learning_rate: 0.25");
  EXPECT_EQ(schedule->LearningRate(1), 0.25);
  EXPECT_EQ(schedule->LearningRate(1000000), 0.25);
  EXPECT_EQ(schedule->metric(), "");
  EXPECT_EQ(schedule->warmup(), 0);
}

TEST(ScheduleTest, OptionsHaveTheDefaultsOfConfigs) {
  const ScheduleContext context = {.learning_rate = 2, .total_updates = 210};
  const auto expect = [](Schedule&& plain, const std::string& choice) {
    const std::unique_ptr<Schedule> configured =
        Make("learning_rate: 2 schedule { " + choice + " {} }");
    EXPECT_EQ(plain.metric(), configured->metric()) << choice;
    EXPECT_EQ(plain.warmup(), configured->warmup()) << choice;
    double metric = 100;
    for (int64_t update = 1; update < 1500; ++update) {
      EXPECT_EQ(plain.LearningRate(update), configured->LearningRate(update))
          << choice << " " << update;
      // At first, the metric improves by more than the threshold. Later it
      // improves by less, and finally not at all.
      if (update < 40) metric *= update < 20 ? 1 - 1.5e-4 : 1 - 0.5e-4;
      plain.Observe(metric);
      configured->Observe(metric);
    }
    EXPECT_EQ(plain.state(), configured->state()) << choice;
  };
  expect(ConstantSchedule(2), "constant");
  expect(CosineSchedule({}, context), "cosine");
  expect(ExponentialSchedule({}, context), "exponential");
  expect(InverseSquareRootSchedule({}, context), "inverse_square_root");
  expect(PolynomialSchedule({}, context), "polynomial");
  expect(ReduceOnPlateauSchedule({}, context), "reduce_on_plateau");
}

TEST(ScheduleTest, ExponentialFallsInSteps) {
  const std::unique_ptr<Schedule> schedule = Make(
      "learning_rate: 8 schedule { exponential { decay: 0.5 interval: 10 } }");
  EXPECT_EQ(schedule->LearningRate(1), 8);
  EXPECT_EQ(schedule->LearningRate(10), 8);
  EXPECT_EQ(schedule->LearningRate(11), 4);
  EXPECT_EQ(schedule->LearningRate(31), 1);
}

TEST(ScheduleTest, InverseSquareRootWarmsUpThenFalls) {
  const std::unique_ptr<Schedule> schedule =
      Make("learning_rate: 2 schedule { inverse_square_root { warmup: 100 } }");
  EXPECT_EQ(schedule->warmup(), 100);
  EXPECT_DOUBLE_EQ(schedule->LearningRate(1), 0.02);
  EXPECT_DOUBLE_EQ(schedule->LearningRate(50), 1);
  EXPECT_DOUBLE_EQ(schedule->LearningRate(100), 2);
  EXPECT_DOUBLE_EQ(schedule->LearningRate(400), 1);
}

TEST(ScheduleTest, CosineWarmsUpThenFallsToItsFloor) {
  const std::unique_ptr<Schedule> schedule =
      Make("learning_rate: 2 schedule { cosine { warmup: 10 floor: 0.1 } }");
  EXPECT_EQ(schedule->warmup(), 10);
  EXPECT_DOUBLE_EQ(schedule->LearningRate(1), 0.2);
  EXPECT_DOUBLE_EQ(schedule->LearningRate(10), 2);
  // The decay takes 200 steps after the warm-up. Step 110 is in its middle, and
  // step 210 is its last step.
  EXPECT_DOUBLE_EQ(schedule->LearningRate(110), 1.1);
  EXPECT_DOUBLE_EQ(schedule->LearningRate(210), 0.2);
  EXPECT_DOUBLE_EQ(schedule->LearningRate(1000), 0.2);
}

TEST(ScheduleTest, PolynomialOfPowerOneIsALine) {
  const std::unique_ptr<Schedule> line =
      Make("learning_rate: 8 schedule { polynomial { updates: 100 } }");
  EXPECT_DOUBLE_EQ(line->LearningRate(1), 7.92);
  EXPECT_DOUBLE_EQ(line->LearningRate(75), 2);
  EXPECT_EQ(line->LearningRate(100), 0);
  const std::unique_ptr<Schedule> square = Make(
      "learning_rate: 8 schedule { polynomial { updates: 100 power: 2 } }");
  EXPECT_DOUBLE_EQ(square->LearningRate(75), 0.5);
}

// The warm-up may be as long as the run, or longer.
TEST(ScheduleTest, AWarmUpMayNeverEnd) {
  const std::unique_ptr<Schedule> schedule = Make(
      "learning_rate: 8 schedule { polynomial { warmup: 400 floor: 0.5 } }");
  EXPECT_DOUBLE_EQ(schedule->LearningRate(210), 4.2);
  EXPECT_DOUBLE_EQ(schedule->LearningRate(400), 8);
  EXPECT_DOUBLE_EQ(schedule->LearningRate(401), 4);
}

TEST(ScheduleTest, PlateauWaitsThenReduces) {
  const std::unique_ptr<Schedule> schedule = Make(
      "learning_rate: 1 schedule { reduce_on_plateau {"
      " patience: 1 decay: 0.5 min_learning_rate: 0.3 threshold: 0.01 } }");
  EXPECT_EQ(schedule->metric(), "dev/loss");
  schedule->Observe(10);
  schedule->Observe(9.95);  // less than 1 % better
  EXPECT_EQ(schedule->LearningRate(2), 1);
  schedule->Observe(10);
  EXPECT_EQ(schedule->LearningRate(3), 0.5);
  schedule->Observe(5);
  schedule->Observe(6);
  schedule->Observe(NAN);  // not an improvement
  EXPECT_EQ(schedule->LearningRate(6), 0.3);
}

TEST(ScheduleTest, PlateauOfAMetricToMaximise) {
  const std::unique_ptr<Schedule> schedule = Make(
      "learning_rate: 1 schedule { reduce_on_plateau { metric: 'dev/bleu'"
      " higher_is_better: true patience: 0 } }");
  schedule->Observe(0.1);
  schedule->Observe(0.2);
  EXPECT_EQ(schedule->LearningRate(1), 1);
  schedule->Observe(0.2);
  EXPECT_EQ(schedule->LearningRate(1), 0.5);
}

TEST(ScheduleTest, StateContinuesWhereItStopped) {
  const std::string text =
      "learning_rate: 1 schedule { reduce_on_plateau { patience: 1 } }";
  const std::unique_ptr<Schedule> whole = Make(text);
  const std::unique_ptr<Schedule> first = Make(text);
  for (const double metric : {3.0, 3.0}) {
    whole->Observe(metric);
    first->Observe(metric);
  }
  const std::unique_ptr<Schedule> second = Make(text);
  ASSERT_TRUE(second->set_state(first->state()).ok());
  whole->Observe(3);
  second->Observe(3);
  EXPECT_EQ(whole->LearningRate(1), 0.5);
  EXPECT_EQ(second->LearningRate(1), 0.5);
}

// An infinite value must not become the best value, because every later
// comparison would then be false.
TEST(ScheduleTest, PlateauIgnoresNonFiniteValues) {
  for (const double bad : {NAN, INFINITY, -INFINITY}) {
    const std::unique_ptr<Schedule> schedule =
        Make("learning_rate: 1 schedule { reduce_on_plateau { patience: 1 } }");
    schedule->Observe(bad);
    EXPECT_EQ(schedule->LearningRate(1), 1) << bad;
    schedule->Observe(10);
    schedule->Observe(9);
    schedule->Observe(8);
    EXPECT_EQ(schedule->LearningRate(1), 1) << bad;
    schedule->Observe(bad);
    schedule->Observe(bad);
    EXPECT_EQ(schedule->LearningRate(1), 0.5) << bad;
  }
}

TEST(ScheduleTest, StateHasNamedNumbers) {
  EXPECT_TRUE(Make("")->state().empty());
  const std::unique_ptr<Schedule> schedule =
      Make("schedule { reduce_on_plateau { patience: 0 } }");
  EXPECT_EQ(schedule->state(),
            (ScheduleState{{"factor", 1}, {"bad_evaluations", 0}}));
  schedule->Observe(3);
  schedule->Observe(4);
  EXPECT_EQ(
      schedule->state(),
      (ScheduleState{{"factor", 0.5}, {"bad_evaluations", 0}, {"best", 3}}));
}

TEST(ScheduleTest, AStateOfAnotherFormatIsAnError) {
  const std::unique_ptr<Schedule> schedule =
      Make("schedule { reduce_on_plateau {} }");
  const auto message = [&](const ScheduleState& state) {
    return std::string(schedule->set_state(state).message());
  };
  EXPECT_EQ(message({{"factor", 0.5}, {"bad_evaluations", 1}}), "");
  EXPECT_EQ(message({{"factor", 0.25}}),
            "the state of reduce_on_plateau has no number 'bad_evaluations'");
  EXPECT_EQ(
      message({{"factor", 0.25}, {"bad_evaluations", 0}, {"patience", 1}}),
      "the state of reduce_on_plateau has an unknown number 'patience'");
  EXPECT_EQ(message({{"factor", 0.25}, {"bad_evaluations", NAN}}),
            "the state of reduce_on_plateau has a number that is not finite: "
            "'bad_evaluations'");
  for (const double wrong : {-1.0, 1e300}) {
    EXPECT_EQ(message({{"factor", 1}, {"bad_evaluations", wrong}}),
              "the state of reduce_on_plateau has a number that is out of "
              "range: 'bad_evaluations'");
    EXPECT_EQ(message({{"factor", wrong}, {"bad_evaluations", 0}}),
              "the state of reduce_on_plateau has a number that is out of "
              "range: 'factor'");
  }
  EXPECT_EQ(schedule->state(),
            (ScheduleState{{"factor", 0.5}, {"bad_evaluations", 1}}));
  EXPECT_TRUE(Make("")->set_state({{"factor", 1}}).ok());
}

TEST(ScheduleDeathTest, UpdatesCountFromOne) {
  for (const char* choice :
       {"constant", "cosine", "exponential", "inverse_square_root",
        "polynomial", "reduce_on_plateau"}) {
    const std::unique_ptr<Schedule> schedule =
        Make(std::string("schedule { ") + choice + " {} }");
    EXPECT_DEATH(schedule->LearningRate(0), "updates count from 1") << choice;
  }
}

TEST(ScheduleDeathTest, ADecayHasAnEnd) {
  const CosineSchedule endless({.warmup = 5}, {.learning_rate = 1});
  EXPECT_DEATH(endless.LearningRate(1), "the decay has no end");
  const CosineSchedule own_end({.updates = 2}, {.learning_rate = 1});
  EXPECT_DOUBLE_EQ(own_end.LearningRate(1), 0.5);
}

TEST(ScheduleDeathTest, OptionsHaveTheRangesOfConfigs) {
  const ScheduleContext context = {.learning_rate = 1, .total_updates = 9};
  EXPECT_DEATH(ExponentialSchedule({.decay = 0}, context),
               "ExponentialOptions::decay is 0, but must be from 1e-06 to 1");
  EXPECT_DEATH(ExponentialSchedule({.interval = 0}, context), "interval is 0");
  EXPECT_DEATH(InverseSquareRootSchedule({.warmup = 0}, context),
               "warmup is 0");
  EXPECT_DEATH(CosineSchedule({.warmup = -1}, context), "warmup is -1");
  EXPECT_DEATH(CosineSchedule({.updates = -1}, context), "updates is -1");
  EXPECT_DEATH(CosineSchedule({.floor = 2}, context), "floor is 2");
  EXPECT_DEATH(PolynomialSchedule({.power = 0}, context), "power is 0");
  const auto plateau = [&](const PlateauOptions& options) {
    const ReduceOnPlateauSchedule schedule(options, context);
  };
  EXPECT_DEATH(plateau({.decay = 1}), "decay is 1");
  EXPECT_DEATH(plateau({.patience = -1}), "patience is -1");
  EXPECT_DEATH(plateau({.min_learning_rate = -1}), "min_learning_rate is -1");
  EXPECT_DEATH(plateau({.threshold = 1}), "threshold is 1");
}

}  // namespace
}  // namespace regard
