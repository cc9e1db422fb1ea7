#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "optimization/optimizer.pb.h"
#include "optimization/optimizer_registry.h"
#include "optimization/optimizers/built_in_optimizers.h"
#include "optimization/schedules/built_in_schedules.h"
#include "options/config_problems.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

ConfigProblems ProblemsOf(const std::string& text) {
  OptimizerConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config));
  OptimizerRegistry optimizers;
  RegisterBuiltInOptimizers(optimizers);
  ScheduleRegistry schedules;
  RegisterBuiltInSchedules(schedules);
  ConfigProblems problems;
  ValidateOptimizer(config, optimizers, schedules, problems);
  return problems;
}

std::vector<std::string> WrongPaths(const std::string& text) {
  const ConfigProblems problems = ProblemsOf(text);
  std::vector<std::string> paths;
  for (const auto& problem : problems.problems()) paths.push_back(problem.path);
  return paths;
}

// Returns the notes of a valid config.
std::vector<std::string> NotesOn(const std::string& text) {
  const ConfigProblems problems = ProblemsOf(text);
  EXPECT_TRUE(problems.ok()) << text;
  return {problems.notes().begin(), problems.notes().end()};
}

TEST(OptimizerValidationTest, DefaultsAreValid) {
  EXPECT_THAT(WrongPaths(""), IsEmpty());
  EXPECT_THAT(WrongPaths("sgd {} schedule { constant {} }"), IsEmpty());
  EXPECT_THAT(WrongPaths("adam {} schedule { exponential {} }"), IsEmpty());
  EXPECT_THAT(WrongPaths("adamw {} schedule { inverse_square_root {} }"),
              IsEmpty());
  EXPECT_THAT(WrongPaths("schedule { reduce_on_plateau {} }"), IsEmpty());
}

TEST(OptimizerValidationTest, EveryProblemIsReportedUnderItsPath) {
  EXPECT_THAT(WrongPaths("learning_rate: -1 clip_norm: -1 accumulate_batches: 0"
                         " adam { beta1: 1 beta2: -0.1 epsilon: nan }"),
              ElementsAre("learning_rate", "clip_norm", "accumulate_batches",
                          "adam.beta1", "adam.beta2", "adam.epsilon"));
  EXPECT_THAT(WrongPaths("schedule { exponential { decay: 0 interval: 0 } }"),
              ElementsAre("schedule.exponential.decay",
                          "schedule.exponential.interval"));
  EXPECT_THAT(
      WrongPaths("adamw { weight_decay: -1 }"
                 " schedule { inverse_square_root { warmup: 0 } }"),
      ElementsAre("adamw.weight_decay", "schedule.inverse_square_root.warmup"));
  EXPECT_THAT(WrongPaths("schedule { reduce_on_plateau { metric: '' decay: 1"
                         " patience: -1 threshold: 1 } }"),
              ElementsAre("schedule.reduce_on_plateau.metric",
                          "schedule.reduce_on_plateau.decay",
                          "schedule.reduce_on_plateau.patience",
                          "schedule.reduce_on_plateau.threshold"));
}

TEST(OptimizerValidationTest, AWarmUpUpToTheFloorIsNoted) {
  for (const std::string schedule : {"cosine", "polynomial"}) {
    EXPECT_THAT(
        NotesOn("schedule { " + schedule + " { warmup: 9 updates: 10 } }"),
        IsEmpty());
    EXPECT_THAT(
        NotesOn("schedule { " + schedule + " { warmup: 10 updates: 10 } }"),
        ElementsAre(
            "schedule." + schedule +
            ".updates: is 10, but must be greater than `warmup` (10) for a "
            "decay; the learning rate now rises and then stays at its floor"));
  }
}

TEST(OptimizerValidationTest, ARateOf0IsNoted) {
  EXPECT_THAT(
      NotesOn("learning_rate: 0"),
      ElementsAre("learning_rate: is 0: training changes no parameter"));
  EXPECT_THAT(NotesOn("learning_rate: 1e-40"), IsEmpty());
}

// Numbers are used as floats, and denormal numbers are flushed to zero. An
// epsilon of 1e-40 would cause 0 / 0 for a parameter without gradient.
TEST(OptimizerValidationTest, RejectsValuesThatAreZeroOrInfiniteAsFloats) {
  for (const std::string rule : {"adam", "adamw"}) {
    EXPECT_THAT(WrongPaths(rule + " { epsilon: 1e-40 }"),
                ElementsAre(rule + ".epsilon"));
    EXPECT_THAT(WrongPaths(rule + " { epsilon: 1e-30 }"), IsEmpty());
    EXPECT_THAT(WrongPaths(rule + " { beta1: 0.99999999 }"),
                ElementsAre(rule + ".beta1"));
    EXPECT_THAT(WrongPaths(rule + " { beta2: 0.99999999 }"),
                ElementsAre(rule + ".beta2"));
    EXPECT_THAT(WrongPaths(rule + " { weight_decay: 1e39 }"),
                ElementsAre(rule + ".weight_decay"));
  }
  EXPECT_THAT(WrongPaths("sgd { momentum: 0.99999999 weight_decay: inf }"),
              ElementsAre("sgd.momentum", "sgd.weight_decay"));
  EXPECT_THAT(WrongPaths("learning_rate: 1e39"), ElementsAre("learning_rate"));
  EXPECT_THAT(WrongPaths("clip_norm: 1e39"), ElementsAre("clip_norm"));
}

TEST(OptimizerValidationTest, DecayedParametersRequiresWeightDecay) {
  for (const std::string rule : {"sgd", "adam", "adamw"}) {
    const std::string choice = " { decayed_parameters: MATRICES weight_decay: ";
    EXPECT_THAT(NotesOn(rule + choice + "0.1 }"), IsEmpty());
    EXPECT_THAT(NotesOn(rule + choice + "0 }"),
                ElementsAre(rule + ".decayed_parameters: has no effect without "
                                   "weight_decay"));
    // The resolved config of a run without decay contains these fields, so they
    // must not cause a note.
    EXPECT_THAT(NotesOn(rule + " { decayed_parameters: EXCEPT_NORMALIZATION "
                               "weight_decay: 0 }"),
                IsEmpty());
  }
}

TEST(OptimizerValidationTest, NesterovNeedsMomentum) {
  EXPECT_THAT(NotesOn("sgd { nesterov: true }"),
              ElementsAre("sgd.nesterov: has no effect without momentum"));
  EXPECT_THAT(NotesOn("sgd { nesterov: true momentum: 0.9 }"), IsEmpty());
}

}  // namespace
}  // namespace regard
