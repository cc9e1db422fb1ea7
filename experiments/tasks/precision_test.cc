// Tests of the fields `precision` and `keep_float32`.

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "experiments/experiment.pb.h"
#include "experiments/tasks/built_in_plugins.h"
#include "experiments/tasks/experiment_config.h"
#include "experiments/tasks/task.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "optimization/product_census.h"
#include "options/config_problems.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Returns a config of a small Transformer with additional `fields`.
Experiment Config(const std::string& fields) {
  Experiment config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      absl::StrCat("data { reverse { train: 20 dev: 2 test: 2 } } model { "
                   "transformer { width: 8 layers: 2 attention { heads: 2 } } "
                   "} ",
                   fields),
      &config));
  return config;
}

std::unique_ptr<Task> TaskOf(const Experiment& config) {
  return BuildTask(config, BuiltInPlugins()).value();
}

// Returns the problems of the task as `path: text`, followed by its notes.
std::vector<std::string> ProblemsOf(const std::string& fields) {
  const Experiment config = Config(fields);
  ConfigProblems problems;
  ValidateExperiment(config, BuiltInPlugins(), problems);
  ValidateTask(*TaskOf(config), config, problems);
  std::vector<std::string> found;
  for (const auto& problem : problems.problems()) {
    found.push_back(absl::StrCat(problem.path, ": ", problem.message));
  }
  for (const auto& note : problems.notes()) {
    found.push_back(absl::StrCat("note: ", note));
  }
  return found;
}

TEST(PrecisionTest, APatternThatMatchesNothingIsAnError) {
  const std::string rounds = "precision: BFLOAT16_PRODUCTS ";
  EXPECT_THAT(ProblemsOf(rounds), IsEmpty());
  EXPECT_THAT(ProblemsOf(rounds + "keep_float32: 'decoder/layers[1]'"),
              IsEmpty());
  EXPECT_THAT(ProblemsOf(rounds + "keep_float32: 'encoder' keep_float32: "
                                  "'decoder/layers[1]/sefl'"),
              ElementsAre("keep_float32[1]: no scope with products matches "
                          "'decoder/layers[1]/sefl'; did you mean "
                          "'decoder/layers[1]/self'?"));
  EXPECT_THAT(ProblemsOf(rounds + "keep_float32: 'nowhere near anything'"),
              ElementsAre("keep_float32[0]: no scope with products matches "
                          "'nowhere near anything'"));
}

TEST(PrecisionTest, APatternWithoutRoundedProductsIsNoted) {
  const std::string note =
      "note: keep_float32: has no effect: only BFLOAT16_PRODUCTS rounds "
      "operands";
  EXPECT_THAT(ProblemsOf(""), IsEmpty());
  EXPECT_THAT(ProblemsOf("keep_float32: 'encoder'"), ElementsAre(note));
  EXPECT_THAT(ProblemsOf("precision: FLOAT32 keep_float32: 'nowhere'"),
              ElementsAre(note));
}

TEST(PrecisionTest, AConfigSetsThePrecisionOfItsModel) {
  const std::unique_ptr<Task> full = TaskOf(Config(""));
  EXPECT_EQ(full->model().parameters().precision(), nullptr);
  const std::unique_ptr<Task> rounding =
      TaskOf(Config("precision: BFLOAT16_PRODUCTS keep_float32: 'encoder'"));
  const std::vector<OperationFlops> products =
      CountOperationFlops(rounding->model(), 1);
  bool keeps = false;
  bool rounds = false;
  for (const OperationFlops& of : products) {
    const bool kept = of.scope.rfind("encoder", 0) == 0;
    EXPECT_EQ(of.rounded_flops, kept ? 0 : of.flops) << of.scope;
    (kept ? keeps : rounds) = true;
  }
  EXPECT_TRUE(keeps);
  EXPECT_TRUE(rounds);
}

}  // namespace
}  // namespace regard
