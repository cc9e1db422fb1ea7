#include "nn/config_problems.h"

#include <cmath>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;

auto ProblemIs(const char* path, const char* message) {
  return AllOf(Field(&ConfigProblems::Problem::path, path),
               Field(&ConfigProblems::Problem::message, message));
}

TEST(ConfigProblemsTest, StartsWithoutProblems) {
  EXPECT_TRUE(ConfigProblems().ok());
}

TEST(ConfigProblemsTest, KeepsTheOrderOfProblems) {
  ConfigProblems problems;
  problems.Add("b", "first");
  problems.Add("a", "second");
  EXPECT_FALSE(problems.ok());
  EXPECT_THAT(problems.problems(),
              ElementsAre(ProblemIs("b", "first"), ProblemIs("a", "second")));
}

TEST(ConfigProblemsTest, ScopesNestAndEnd) {
  ConfigProblems problems;
  problems.Add("", "whole");
  {
    ConfigProblems::Scope model(problems, "model");
    {
      ConfigProblems::Scope layer(problems, "layers[1]");
      problems.Add("heads", "inner");
      problems.Add("", "layer");
    }
    ConfigProblems::Scope same(problems, "");
    problems.Add("outside.[lab.my_score].width", "outer");
  }
  problems.Add("seed", "top");
  EXPECT_THAT(
      problems.problems(),
      ElementsAre(ProblemIs("", "whole"),
                  ProblemIs("model.layers[1].heads", "inner"),
                  ProblemIs("model.layers[1]", "layer"),
                  ProblemIs("model.outside.[lab.my_score].width", "outer"),
                  ProblemIs("seed", "top")));
}

TEST(ConfigProblemsTest, RangesIncludeTheirEnds) {
  ConfigProblems problems;
  problems.RequireInRange("dropout", 0, 0, 1);
  problems.RequireInRange("dropout", 1, 0, 1);
  EXPECT_TRUE(problems.ok());
  problems.RequireInRange("dropout", 1.5, 0, 1);
  problems.RequireInRange("dropout", -0.25, 0, 1);
  problems.RequireInRange("dropout", std::nan(""), 0, 1);
  EXPECT_THAT(problems.problems(),
              ElementsAre(ProblemIs("dropout", "must be in [0, 1], got 1.5"),
                          ProblemIs("dropout", "must be in [0, 1], got -0.25"),
                          ProblemIs("dropout", "must be in [0, 1], got nan")));
}

TEST(ConfigProblemsTest, ValuesPrintAsTheyWereWritten) {
  ConfigProblems problems;
  problems.RequireInRange("rate", 0.3f, 0, 0.1);
  problems.RequireInRange("rate", 1.0000000001, 0, 1);
  problems.RequireInRange("points", 1000001, 2, 1000000);
  problems.RequireInRange("decay", 1e30, 1e-30, 123456789.5);
  EXPECT_THAT(
      problems.problems(),
      ElementsAre(
          ProblemIs("rate", "must be in [0, 0.1], got 0.3"),
          ProblemIs("rate", "must be in [0, 1], got 1.0000000001"),
          ProblemIs("points", "must be in [2, 1000000], got 1000001"),
          ProblemIs("decay", "must be in [1e-30, 123456789.5], got 1e+30")));
}

TEST(ConfigProblemsTest, DropoutIsBelowOneAsAFloat) {
  ConfigProblems problems;
  problems.RequireDropout("dropout", 0);
  problems.RequireDropout("dropout", 0.9999);
  EXPECT_TRUE(problems.ok());
  problems.RequireDropout("dropout", 1);
  problems.RequireDropout("dropout", 0.9999999999);
  problems.RequireDropout("dropout", -1e-9);
  problems.RequireDropout("dropout", std::nan(""));
  EXPECT_THAT(
      problems.problems(),
      ElementsAre(ProblemIs("dropout", "must be in [0, 1), got 1"),
                  ProblemIs("dropout", "must be in [0, 1), got 0.9999999999"),
                  ProblemIs("dropout", "must be in [0, 1), got -1e-09"),
                  ProblemIs("dropout", "must be in [0, 1), got nan")));
}

TEST(ConfigProblemsTest, PositiveIsAboveZeroAndFinite) {
  ConfigProblems problems;
  problems.RequirePositive("width", 1e-30);
  EXPECT_TRUE(problems.ok());
  problems.RequirePositive("width", 0);
  problems.RequirePositive("width", std::nan(""));
  problems.RequirePositive("width", std::numeric_limits<double>::infinity());
  EXPECT_THAT(problems.problems(),
              ElementsAre(ProblemIs("width", "must be positive, got 0"),
                          ProblemIs("width", "must be positive, got nan"),
                          ProblemIs("width", "must be positive, got inf")));
}

}  // namespace
}  // namespace regard
