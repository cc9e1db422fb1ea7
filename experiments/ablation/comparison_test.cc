#include "experiments/ablation/comparison.h"

#include <cmath>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "optimization/evaluated_set.h"

namespace regard {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Returns a grid with the scores `additive` (the baseline), `dot` and `none`.
// `values` has the dev/loss of each score, by seed. A negative loss means that
// the run has failed.
ResultGrid GridOf(const std::vector<std::vector<double>>& values) {
  ResultGrid grid;
  grid.axes = {{"attention",
                {{"additive", {"model.additive.width=8"}},
                 {"dot", {"model.dot={}"}},
                 {"none", {}}},
                0}};
  for (size_t v = 0; v < values.size(); ++v) {
    for (size_t seed = 0; seed < values[v].size(); ++seed) {
      ComparedRun run;
      run.coordinates = {v};
      run.seed = std::to_string(seed);
      if (values[v][seed] < 0) {
        run.missing = "failed";
      } else {
        run.status.metrics = {{"dev/loss", values[v][seed]}};
      }
      grid.runs.push_back(run);
    }
  }
  return grid;
}

TEST(CompareWithBaselines, PairsRunsBySeed) {
  const ResultGrid grid = GridOf({{1, 2, 3}, {2, 4, 7}});
  const std::vector<Comparison> all = CompareWithBaselines(grid);
  ASSERT_EQ(all.size(), 2);
  EXPECT_EQ(all[0].value, 1);
  EXPECT_EQ(all[0].differences.n, 3);
  EXPECT_DOUBLE_EQ(all[0].differences.mean, 7.0 / 3);
  EXPECT_EQ(all[0].p_value, 0.25);
}

TEST(CompareWithBaselines, MakesNoClaimsAboutPairsWithAMissingRun) {
  const ResultGrid grid = GridOf({{1, -1, 3}, {2, 4, -1}});
  const std::vector<Comparison> all = CompareWithBaselines(grid);
  EXPECT_EQ(all[0].differences.n, 1);
  EXPECT_DOUBLE_EQ(all[0].differences.mean, 1);
  EXPECT_EQ(all[0].missing_pairs, 2);
  EXPECT_EQ(Verdict(all[0]), "2 pairs missing");
  EXPECT_EQ(all[1].differences.n, 0);
  EXPECT_EQ(Verdict(all[1]), "no pairs");
}

TEST(CompareWithBaselines, DoesNotTestIncompletePairs) {
  // The seven complete pairs would give a significant difference. The missing
  // run of the eighth pair must prevent this verdict.
  const std::vector<double> zeros(8, 0.0);
  const ResultGrid grid = GridOf({zeros, {1, 2, 3, 4, 5, 6, 7, -1}});
  const std::vector<Comparison> all = CompareWithBaselines(grid);
  EXPECT_EQ(all[0].differences.n, 7);
  EXPECT_EQ(Verdict(all[0]), "1 pair missing");
  EXPECT_FALSE(all[0].IsSignificant());
}

TEST(CompareWithBaselines, AMissingRunDoesNotChangeTheCorrection) {
  const std::vector<double> zeros(7, 0.0);
  const ResultGrid grid =
      GridOf({zeros, {1, 2, 3, 4, 5, 6, 7}, {1, 2, 3, 4, 5, 6, -1}});
  const std::vector<Comparison> all = CompareWithBaselines(grid);
  EXPECT_DOUBLE_EQ(all[0].p_value, 0.015625);
  EXPECT_DOUBLE_EQ(all[0].corrected_p_value, 0.03125);
}

TEST(CompareWithBaselines, CorrectsForTheNumberOfComparisons) {
  // Seven differences of equal sign give a p-value of 2 / 2^7 = 0.015625. The
  // correction for two comparisons doubles it.
  const std::vector<double> zeros(7, 0.0);
  const ResultGrid grid = GridOf({zeros, {1, 2, 3, 4, 5, 6, 7}, zeros});
  const std::vector<Comparison> all = CompareWithBaselines(grid);
  EXPECT_DOUBLE_EQ(all[0].p_value, 0.015625);
  EXPECT_DOUBLE_EQ(all[0].corrected_p_value, 0.03125);
  EXPECT_EQ(Verdict(all[0]), "significantly higher");
  EXPECT_EQ(Verdict(all[1]), "not significant");
}

TEST(CompareWithBaselines, SaysWhereANumberIsNotFinite) {
  const ResultGrid grid = GridOf({{1, 2}, {NAN, 3}});
  EXPECT_EQ(Verdict(CompareWithBaselines(grid)[0]), "not finite");
}

TEST(CompareWithBaselines, AveragesOverOtherAxesAndCountsSeeds) {
  ResultGrid grid = GridOf({{1, 2}, {3, 5}});
  grid.axes.push_back({"width", {{"8", {"w=8"}}, {"16", {"w=16"}}}, 1});
  std::vector<ComparedRun> twice;
  for (const size_t width : {0, 1}) {
    for (ComparedRun run : grid.runs) {
      run.coordinates.push_back(width);
      // The loss of dot is lower by 2 and 3 at the first width, and by 4 and 6
      // at the second.
      run.status.metrics["dev/loss"] *= static_cast<double>(1 + width);
      twice.push_back(run);
    }
  }
  grid.runs = twice;
  const std::vector<Comparison> all = CompareWithBaselines(grid);
  ASSERT_EQ(all.size(), 3);
  EXPECT_EQ(all[0].differences.n, 2);
  EXPECT_DOUBLE_EQ(all[0].differences.mean, (3.0 + 4.5) / 2);
  EXPECT_EQ(all[0].p_value, 0.5);
  // The differences between the first and the second width are -1 and -3 for
  // additive, and -2 and -5 for dot.
  EXPECT_EQ(all[2].axis, 1);
  EXPECT_EQ(all[2].value, 0);
  EXPECT_EQ(all[2].differences.n, 2);
  EXPECT_DOUBLE_EQ(all[2].differences.mean, (-2.0 - 3.5) / 2);
}

std::vector<std::string> WarningsOf(const std::string& baseline,
                                    const std::string& other) {
  ResultGrid grid = GridOf({{1}, {2}});
  grid.runs[0].config = *ParseResolvedFields(baseline);
  grid.runs[1].config = *ParseResolvedFields(other);
  return ConfoundedComparisons(grid);
}

TEST(ConfoundedComparisons, AllowsFieldsThatTheAxisChanges) {
  EXPECT_THAT(WarningsOf("model {\n additive {\n width: 8\n}\n}\n",
                         "model {\n dot {\n scale: true\n}\n}\n"),
              IsEmpty());
}

TEST(ConfoundedComparisons, NamesAnyOtherField) {
  EXPECT_THAT(
      WarningsOf("rate: 1\nmodel {\n additive {\n width: 8\n}\n}\n",
                 "rate: 2\nmodel {\n dot {\n scale: true\n}\n}\n"),
      ElementsAre("dot and additive also differ in fields outside their axis: "
                  "rate (2; 1)."));
}

TEST(ConfoundedComparisons, NamesAMessageThatNoMemberReplaced) {
  EXPECT_THAT(
      WarningsOf("model {\n additive {\n width: 8\n}\n}\n",
                 "model {\n additive {\n width: 8\n}\n drop {\n p: "
                 "1\n}\n}\n"),
      ElementsAre(AllOf(HasSubstr("model.drop"), Not(HasSubstr("additive.")))));
}

TEST(ConfoundedComparisons, AllowsTheMemberThatTheAxisReplaces) {
  ResultGrid grid = GridOf({{1}, {2}});
  // Without an override, the difference between the configs is unintended and
  // must be reported.
  grid.axes[0].values[0].overrides.clear();
  grid.runs[0].config =
      *ParseResolvedFields("model {\n additive {\n width: 8\n}\n}\n");
  grid.runs[1].config =
      *ParseResolvedFields("model {\n dot {\n scale: true\n}\n}\n");
  EXPECT_THAT(ConfoundedComparisons(grid), IsEmpty());
}

TEST(ConfoundedComparisons, AllowsAnElementThatTheAxisSets) {
  ResultGrid grid = GridOf({{1}, {2}});
  grid.axes[0].values[1].overrides = {"[lab.my_score].layers[0].p=2"};
  grid.runs[0].config =
      *ParseResolvedFields("[lab.my_score] {\n layers {\n p: 1\n}\n}\n");
  grid.runs[1].config =
      *ParseResolvedFields("[lab.my_score] {\n layers {\n p: 2\n}\n}\n");
  EXPECT_THAT(ConfoundedComparisons(grid), IsEmpty());
}

TEST(ConfoundedComparisons, LooksAtEveryAxis) {
  ResultGrid grid = GridOf({{1, 2}});
  grid.axes.push_back({"width", {{"8", {"w=8"}}, {"16", {"w=16"}}}, 0});
  for (size_t width : {0, 1}) {
    ComparedRun& run = grid.runs[width];
    run.seed = "0";
    run.coordinates.push_back(width);
    run.config = *ParseResolvedFields(width == 0 ? "rate: 1\nw: 8\n"
                                                 : "rate: 2\nw: 16\n");
  }
  EXPECT_THAT(
      ConfoundedComparisons(grid),
      ElementsAre("width 16 and width 8 also differ in fields outside their "
                  "axis: rate (2; 1)."));
}

// Returns eight examples, of which the first `right` are correct.
EvaluatedSet EightExamples(int right) {
  MetricOverExamples metric = {"dev/loss"};
  EvaluatedSet set;
  for (int i = 0; i < 8; ++i) {
    metric.Add({i < right ? 1.0 : 0.0, 1});
    set.examples.push_back({std::to_string(i), "", "", 1});
  }
  set.metrics = {metric};
  return set;
}

TEST(CompareWithBaselines, ComparesOverExamplesToo) {
  ResultGrid grid = GridOf({{0.25, 0.25}, {0.75, 0.75}, {0.25, 0.25}});
  for (size_t i = 0; i < grid.runs.size(); ++i) {
    grid.runs[i].sets = {EightExamples(i / 2 == 1 ? 6 : 2)};
  }
  const std::vector<Comparison> all = CompareWithBaselines(grid);
  ASSERT_TRUE(all[0].over_examples.has_value());
  EXPECT_EQ(all[0].over_examples->pairs, 2);
  EXPECT_EQ(all[0].over_examples->examples, 8);
  EXPECT_DOUBLE_EQ(all[0].over_examples->tests.difference, 0.5);
  // Four examples differ. The test swaps an example for both seeds at once, so
  // 2 of 16 combinations are as extreme as the original one.
  const double p = all[0].over_examples->tests.randomization_p;
  EXPECT_NEAR(p, 0.125, 0.02);
  EXPECT_DOUBLE_EQ(all[0].over_examples->corrected_p_value, 2 * p);
  EXPECT_EQ(all[1].over_examples->tests.randomization_p, 1);
}

TEST(CompareWithBaselines, ComparingExamplesRequiresAllRunsAndEqualExamples) {
  const ResultGrid whole = [] {
    ResultGrid grid = GridOf({{0.25, 0.25}, {0.75, 0.75}});
    for (ComparedRun& run : grid.runs) run.sets = {EightExamples(2)};
    return grid;
  }();
  EXPECT_TRUE(CompareWithBaselines(whole)[0].over_examples.has_value());
  ResultGrid grid = whole;
  grid.runs[3].sets.clear();
  EXPECT_FALSE(CompareWithBaselines(grid)[0].over_examples.has_value());
  grid = whole;
  grid.runs[3].sets[0].examples[7].reference = "another";
  EXPECT_FALSE(CompareWithBaselines(grid)[0].over_examples.has_value());
}

}  // namespace
}  // namespace regard
