#include "experiments/comparison/run_comparison.h"

#include <cmath>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "experiments/ablation/comparison.h"
#include "experiments/ablation/grid.h"
#include "experiments/run/status.h"
#include "files/json_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "optimization/evaluated_set.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::regard::testing::StatusIs;
using ::testing::ContainsRegex;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

ComparedRun Finished() {
  ComparedRun run;
  run.config = {{"seed", "1"}, {"optimizer", "{...}"}, {"optimizer.rate", "2"}};
  run.status.state = RunState::kFinished;
  run.status.step = 10;
  run.status.metrics = {{"dev/bleu", 40}, {"dev/loss", 0.5}};
  run.status.weights_digest = "ab";
  return run;
}

TEST(RunComparisonText, SaysThatARepeatedRunIsTheSame) {
  EXPECT_EQ(RunComparisonText(Finished(), Finished()),
            "config: no field differs\n"
            "metrics that differ: none\n"
            "metrics that are equal:\n"
            "  dev/bleu  40\n"
            "  dev/loss  0.5\n"
            "weights: bit-identical\n");
}

TEST(RunComparisonText, ListsWhatDiffersAndWhatMoved) {
  ComparedRun other = Finished();
  other.config[2] = {"optimizer.rate", "3"};
  other.config.push_back({"name", "\"b\""});
  other.status.step = 20;
  other.status.metrics = {
      {"dev/bleu", 42}, {"dev/loss", 0.5}, {"test/loss", 1}};
  other.status.weights_digest = "cd";
  EXPECT_EQ(RunComparisonText(Finished(), other),
            "config:\n"
            "  name            not set -> \"b\"\n"
            "  optimizer.rate  2 -> 3\n"
            "step: 10 -> 20\n"
            "metrics that differ:\n"
            "  dev/bleu   40 -> 42  (+2, +5.00 %)\n"
            "  test/loss  missing -> 1\n"
            "metrics that are equal:\n"
            "  dev/loss  0.5\n"
            "weights: differ\n");
}

TEST(RunComparisonText, HasNoChangeForNonFiniteValues) {
  ComparedRun other = Finished();
  other.status.state = RunState::kFailed;
  other.status.metrics["dev/loss"] = NAN;
  other.status.weights_digest.clear();
  EXPECT_EQ(RunComparisonText(other, Finished()),
            "config: no field differs\n"
            "state: failed -> finished\n"
            "metrics that differ:\n"
            "  dev/loss  nan -> 0.5\n"
            "metrics that are equal:\n"
            "  dev/bleu  40\n"
            "weights: unknown\n");
}

TEST(ReadRun, NamesTheFileThatIsMissing) {
  EXPECT_THAT(
      ReadRun("no/such/run", {}),
      StatusIs(
          absl::StatusCode::kInvalidArgument,
          HasSubstr("not a run folder: no/such/run/run.json: cannot open")));
}

// Returns a run with ten examples, of which `right` are correct.
ComparedRun RunOf(const std::string& name, int seed, const std::string& rate,
                  int right) {
  ComparedRun run;
  run.label = name;
  run.status.state = RunState::kFinished;
  run.config = {{"name", absl::StrCat("\"", name, "\"")},
                {"seed", absl::StrCat(seed)},
                {"rate", rate}};
  MetricOverExamples metric = {"test/accuracy"};
  EvaluatedSet set;
  for (int i = 0; i < 10; ++i) {
    metric.Add({i < right ? 1.0 : 0.0, 1});
    set.examples.push_back({absl::StrCat(i), "", "", 1});
  }
  run.status.metrics = {{"test/accuracy", metric.Value()}, {"test/loss", 1}};
  set.metrics = {metric};
  run.sets = {set};
  return run;
}

TEST(GridOfRuns, RunsThatDifferInTheirSeedAreOneValue) {
  const ResultGrid grid =
      GridOfRuns({RunOf("a", 0, "1", 5), RunOf("b", 0, "2", 5),
                  RunOf("c", 1, "1", 5), RunOf("d", 1, "2", 5)});
  ASSERT_EQ(grid.axes[0].values.size(), 2);
  EXPECT_EQ(grid.axes[0].values[0].label, "a");
  EXPECT_EQ(grid.axes[0].values[1].label, "b");
  ASSERT_EQ(grid.runs.size(), 4);
  EXPECT_EQ(grid.runs[1].label, "c");
  EXPECT_EQ(grid.runs[1].seed, "1");
  EXPECT_EQ(grid.runs[1].coordinates[0], 0);
}

TEST(GridOfRuns, SeedsAreComparedIfNothingElseDiffers) {
  const ResultGrid grid =
      GridOfRuns({RunOf("a", 0, "1", 5), RunOf("b", 1, "1", 5)});
  EXPECT_EQ(grid.axes[0].values.size(), 2);
  EXPECT_EQ(grid.runs[0].seed, grid.runs[1].seed);
}

TEST(GridOfRuns, TheSameRunTwiceIsTwoValues) {
  const ComparedRun run = RunOf("a", 0, "1", 5);
  EXPECT_EQ(GridOfRuns({run, run, RunOf("b", 0, "2", 5)}).axes[0].values.size(),
            3);
}

TEST(SignificanceText, SaysThatARunDoesNotDifferFromItself) {
  const ComparedRun run = RunOf("a", 0, "1", 5);
  const std::string text = SignificanceText(GridOfRuns({run, run}));
  EXPECT_THAT(text, HasSubstr("  run  seed  test/accuracy\n"
                              "  a          0.5 ("));
  EXPECT_THAT(
      text,
      HasSubstr("  test/accuracy  a      a         1     10        0           "
                "0 [0, 0]              1.0000             1.0000               "
                "  1.0000\n"));
  EXPECT_THAT(text, Not(HasSubstr("over seeds:")));
}

TEST(SignificanceText, ComparesOverExamplesAndOverSeeds) {
  const std::string text = SignificanceText(
      GridOfRuns({RunOf("a", 0, "1", 0), RunOf("c", 1, "1", 1),
                  RunOf("b", 0, "2", 10), RunOf("d", 1, "2", 10)}));
  EXPECT_THAT(text, HasSubstr("over examples:\n"));
  EXPECT_THAT(text, ContainsRegex("test/accuracy  b      a         2     10   "
                                  "     0.95  .*0.00[0-9]+ +0.00"));
  EXPECT_THAT(text, HasSubstr("over seeds:\n"));
  EXPECT_THAT(text, ContainsRegex("test/accuracy  b      a         2      0.95 "
                                  "\\(0.071\\)  0.5000"));
}

TEST(SignificanceText, NamesRunsWithoutAPartnerOfTheirSeed) {
  const ComparedRun a0 = RunOf("a0", 0, "1", 5);
  const ComparedRun a1 = RunOf("a1", 1, "1", 5);
  const ComparedRun b2 = RunOf("b2", 2, "2", 5);
  constexpr char kAlone[] =
      "not compared because no baseline run has the same seed: ";
  EXPECT_THAT(SignificanceText(GridOfRuns({a0, a1, b2})),
              EndsWith(absl::StrCat(kAlone, "a0, a1, b2\n")));
  EXPECT_THAT(
      SignificanceText(GridOfRuns({a0, a1, RunOf("b0", 0, "2", 5), b2})),
      HasSubstr(absl::StrCat(kAlone, "a1, b2\nover examples:\n")));
}

ComparedRun With(ComparedRun run, RunState state) {
  run.status.state = state;
  run.status.step = 40;
  return run;
}

// Metrics of an unfinished run are not results, so significance tests must not
// include the run.
TEST(GridOfRuns, OnlyFinishedRunsAreTested) {
  std::vector<ComparedRun> runs;
  for (int seed = 0; seed < 6; ++seed) {
    runs.push_back(RunOf(absl::StrCat("a", seed), seed, "1", seed % 2));
    runs.push_back(RunOf(absl::StrCat("b", seed), seed, "2", 9));
  }
  for (const RunState state : {RunState::kRunning, RunState::kInterrupted}) {
    std::vector<ComparedRun> some = runs;
    some[11] = With(RunOf("b5", 5, "2", 0), state);
    const Comparison comparison =
        CompareWithBaselines(GridOfRuns(some)).front();
    EXPECT_EQ(comparison.differences.n, 5);
    EXPECT_NEAR(comparison.differences.mean, 0.86, 1e-12);
    EXPECT_EQ(comparison.p_value, 0.0625);
    EXPECT_THAT(SignificanceText(GridOfRuns(some)),
                HasSubstr("because no baseline run has the same seed: a5"));
  }
  // If a run has failed, the remaining runs are not a random sample.
  runs[11] = With(RunOf("b5", 5, "2", 0), RunState::kFailed);
  const Comparison failed = CompareWithBaselines(GridOfRuns(runs)).front();
  EXPECT_EQ(failed.differences.n, 5);
  EXPECT_EQ(failed.missing_pairs, 1);
  EXPECT_TRUE(std::isnan(failed.p_value));
}

TEST(GridOfRuns, AnUnfinishedBaselineIsNotReplaced) {
  const ResultGrid grid =
      GridOfRuns({With(RunOf("a", 0, "1", 5), RunState::kInterrupted),
                  RunOf("b", 0, "2", 5), RunOf("c", 0, "3", 5)});
  EXPECT_EQ(grid.axes[0].values[0].label, "a");
  EXPECT_THAT(SignificanceText(grid),
              EndsWith("not compared because no baseline run has the same "
                       "seed: b, c\n"));
}

TEST(StatesText, ListsRunsAndWhichAreNotCompared) {
  const ComparedRun a = RunOf("a", 0, "1", 5);
  const ComparedRun b = With(RunOf("b", 0, "2", 5), RunState::kInterrupted);
  EXPECT_EQ(StatesText({a, a}), "");
  EXPECT_EQ(StatesText({a, a, a}),
            "runs:\n"
            "  run  state     step\n"
            "  a    finished  0\n"
            "  a    finished  0\n"
            "  a    finished  0\n");
  EXPECT_EQ(StatesText({b, b}),
            "runs:\n"
            "  run  state        step\n"
            "  b    interrupted  40\n"
            "  b    interrupted  40\n"
            "not compared because they have not finished: b, b\n");
}

TEST(ComparisonJson, HasRunsDifferencesAndComparisons) {
  ComparedRun b = RunOf("b", 0, "2", 10);
  b.status.weights_digest = "cd";
  b.status.step = 7;
  EXPECT_EQ(JsonText(ComparisonJson({RunOf("a", 0, "1", 4), b})),
            R"({"runs":[{"run":"a","state":"finished","step":0,)"
            R"("metrics":{"test/accuracy":0.4,"test/loss":1},)"
            R"("weights_digest":"","confidence":{"test/accuracy":{"mean":)"
            R"(0.39879999999999977,"half_width":0.3,"low":0.1,)"
            R"("high":0.7}}},{"run":"b",)"
            R"("state":"finished","step":7,"metrics":{"test/accuracy":1,)"
            R"("test/loss":1},"weights_digest":"cd",)"
            R"("confidence":{"test/accuracy":{"mean":1,)"
            R"("half_width":0,"low":1,"high":1}}}],"config":[{"path":"name",)"
            R"("before":"\"a\"","after":"\"b\""},{"path":"rate",)"
            R"("before":"1","after":"2"}],)"
            R"("comparisons":[{"metric":"test/accuracy","run":"b",)"
            R"("baseline":"a","seeds":1,"missing_pairs":0,)"
            R"("difference":0.6,"p_over_seeds":1,"corrected_p_over_seeds":1,)"
            R"("over_examples":{"examples":10,"difference":0.6,)"
            R"("half_width":0.3,"low":0.30000000000000004,"high":0.9,)"
            R"("bootstrap_p":0.000999000999000999,)"
            R"("randomization_p":0.030896910308969103,)"
            R"("corrected_p":0.030896910308969103}},)"
            R"({"metric":"test/loss","run":"b","baseline":"a","seeds":1,)"
            R"("missing_pairs":0,"difference":0,"p_over_seeds":1,)"
            R"("corrected_p_over_seeds":1}]})");
  EXPECT_FALSE(
      ComparisonJson({b, b, RunOf("a", 0, "1", 10)}).contains("config"));
}

TEST(SignificanceText, SaysThatThereIsNothingToCompare) {
  ComparedRun run = RunOf("a", 0, "1", 5);
  ComparedRun other = RunOf("b", 0, "2", 5);
  other.sets[0].examples[3].input = "another";
  EXPECT_THAT(SignificanceText(GridOfRuns({run, other})),
              HasSubstr("over examples: not compared because the runs were "
                        "evaluated on different examples\n"));
  run.sets.clear();
  other.sets.clear();
  EXPECT_EQ(SignificanceText(GridOfRuns({run, other})),
            "examples: no finished run has recorded its examples\n");
}

}  // namespace
}  // namespace regard
