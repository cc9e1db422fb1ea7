// Tests an optimizer and a schedule that are defined outside of Regard, in
// another namespace.
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "autodiff/worker_pool.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "nn/initializers.h"
#include "nn/parameters.h"
#include "optimization/optimizer.h"
#include "optimization/optimizer.pb.h"
#include "optimization/optimizer_registry.h"
#include "optimization/optimizers/built_in_optimizers.h"
#include "optimization/outside_optimizer_test.pb.h"
#include "optimization/schedule.h"
#include "optimization/schedules/built_in_schedules.h"
#include "options/config_problems.h"

namespace lab {

template <typename T>
class SignSgd : public regard::Optimizer<T> {
 public:
  using Options = SignSgdOptions;

  SignSgd(const Options& options, regard::ParameterStore<T>& parameters)
      : regard::Optimizer<T>(parameters, {"mean_sign"}),
        scale_(options.scale()) {}

 protected:
  void Apply(const regard::ParameterRangeUpdate<T>& update) override {
    const T rate = static_cast<T>(scale_ * update.learning_rate);
    T* const mean = this->StateOf(0, update);
    for (int64_t i = 0; i < update.size; ++i) {
      const T sign = std::copysign(T(1), update.gradient[i]);
      mean[i] += (sign - mean[i]) / static_cast<T>(update.number);
      update.values[i] -= rate * sign;
    }
  }

 private:
  const double scale_;
};

class Halfway : public regard::Schedule {
 public:
  using Options = HalfwayOptions;

  Halfway(const Options& options, const regard::ScheduleContext& context)
      : factor_(options.factor()), context_(context) {}

  double LearningRate(int64_t update) const override {
    const bool late = update > context_.total_updates / 2;
    return context_.learning_rate * (late ? factor_ : 1);
  }

 private:
  const double factor_;
  const regard::ScheduleContext context_;
};

REGARD_OPTIMIZER(SignSgd, "x - rate sign(g)")
REGARD_SCHEDULE(Halfway, "lower from half of the run on")

}  // namespace lab

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

OptimizerConfig Config(const std::string& text) {
  OptimizerConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config));
  return config;
}

class OutsideOptimizerTest : public ::testing::Test {
 protected:
  OutsideOptimizerTest() {
    RegisterBuiltInOptimizers(optimizers_);
    RegisterBuiltInSchedules(schedules_);
  }

  void RegisterLab() {
    lab::RegisterSignSgdInOptimizerRegistry(optimizers_);
    lab::RegisterHalfwayInScheduleRegistry(schedules_);
  }

  std::vector<std::string> Problems(const std::string& text) const {
    ConfigProblems problems;
    ValidateOptimizer(Config(text), optimizers_, schedules_, problems);
    std::vector<std::string> texts;
    for (const auto& problem : problems.problems()) {
      texts.push_back(problem.path + ": " + problem.message);
    }
    return texts;
  }

  OptimizerRegistry optimizers_;
  ScheduleRegistry schedules_;
};

TEST_F(OutsideOptimizerTest, UpdatesParameters) {
  RegisterLab();
  ParameterStore<float> store;
  store.Root().Add("w", {3}, Constant(1));
  store.Finalize(0);
  const auto optimizer = optimizers_.Create(
      Config("outside { [lab.sign_sgd] { scale: 2 } }"), store);
  Slab<float> gradient(store.slab_size());
  gradient.data()[0] = 7;
  gradient.data()[1] = -0.5;
  gradient.data()[2] = 1;
  WorkerPool pool(1);
  optimizer->Update({.learning_rate = 0.25, .gradient = gradient.span()}, pool);
  EXPECT_THAT(store.value({0, &store}), ElementsAre(0.5, 1.5, 0.5));
  ASSERT_EQ(optimizer->state().size(), 1);
  EXPECT_EQ(optimizer->state()[0].name, "mean_sign");
  EXPECT_EQ(optimizer->state()[0].values.span()[1], -1);
}

TEST_F(OutsideOptimizerTest, AScheduleGetsTheLengthOfTheRun) {
  RegisterLab();
  const auto schedule = schedules_.Create(
      Config("schedule { outside { [lab.halfway] { factor: 0.5 } } }")
          .schedule(),
      {.learning_rate = 4, .total_updates = 10});
  EXPECT_EQ(schedule->LearningRate(5), 4);
  EXPECT_EQ(schedule->LearningRate(6), 2);
}

TEST_F(OutsideOptimizerTest, OptionsAreValidatedUnderTheirPath) {
  RegisterLab();
  EXPECT_THAT(Problems("outside { [lab.sign_sgd] {} }"
                       " schedule { outside { [lab.halfway] {} } }"),
              IsEmpty());
  EXPECT_THAT(Problems("outside { [lab.sign_sgd] { scale: 11 } }"),
              ElementsAre(HasSubstr("outside.[lab.sign_sgd].scale: must be")));
}

TEST_F(OutsideOptimizerTest, ReportsOptimizersThatAreNotLinked) {
  EXPECT_THAT(
      Problems("outside { [lab.sign_sgd] {} }"
               " schedule { outside { [lab.halfway] {} } }"),
      ElementsAre(HasSubstr("outside.[lab.sign_sgd]: lab.SignSgdOptions is not "
                            "linked into this program, which has "
                            "regard.AdamConfig"),
                  HasSubstr("schedule.outside.[lab.halfway]: ")));
  EXPECT_THAT(Problems("outside {}"),
              ElementsAre(HasSubstr("exactly one optimizer")));
}

}  // namespace
}  // namespace regard
