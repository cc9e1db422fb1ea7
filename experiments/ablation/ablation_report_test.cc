#include "experiments/ablation/ablation_report.h"

#include <cmath>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "experiments/ablation/grid.h"
#include "experiments/report/report.h"
#include "experiments/report/run_results.h"
#include "experiments/run/metric.h"
#include "files/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "optimization/evaluated_set.h"
#include "options/resolved.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// Returns a grid of two cells with one seed. `config` is the config of the
// second cell.
ResultGrid TwoCells(const std::string& config) {
  ResultGrid grid;
  grid.name = "widths";
  grid.axes = {{"width", {{"8", {"width=8"}}, {"16", {"width=16"}}}, 0}};
  for (size_t i = 0; i < 2; ++i) {
    ComparedRun run;
    run.coordinates = {i};
    run.seed = std::to_string(0);
    run.status.metrics = {{"dev/loss", 1.0 + static_cast<double>(i)}};
    run.config = *ParseResolvedFields(i == 0 ? "rate: 1\nwidth: 8\n" : config);
    LabelledMatrix map;
    map.title = "the cat";
    map.rows = {"le"};
    map.columns = {"the"};
    map.heads = {{0.5}};
    run.maps = {map};
    grid.runs.push_back(run);
  }
  return grid;
}

// Returns runs with three widths and the given number of seeds. Their accuracy
// increases with the width, and their loss depends only on the seed.
ResultGrid ThreeWidths(int seeds) {
  ResultGrid grid;
  grid.name = "widths";
  grid.question = "What does width change?";
  grid.label = "//configs:widths";
  grid.axes = {
      {"width",
       {{"8", {"width=8"}}, {"16", {"width=16", "rate=1"}}, {"none", {}}},
       1}};
  for (size_t width = 0; width < 3; ++width) {
    for (int seed = 0; seed < seeds; ++seed) {
      ComparedRun& run = grid.runs.emplace_back();
      run.coordinates = {width};
      run.seed = std::to_string(seed);
      run.config = *ParseResolvedFields("rate: 1\nmodel {\nwidth: 8\n}\n");
      run.metric_infos = {{"accuracy", "", "", Better::kHigher},
                          {"loss", "", "", Better::kLower}};
      EvaluatedSet& set = run.sets.emplace_back();
      set.metrics = {{"test/accuracy"}};
      double right = 0;
      for (size_t i = 0; i < 8; ++i) {
        const bool is_right = i < 2 * width + static_cast<size_t>(seed % 2);
        right += is_right ? 1 : 0;
        set.metrics[0].Add({is_right ? 1.0 : 0.0, 1});
        set.examples.push_back({std::to_string(i), "", "", 1});
      }
      run.status.metrics = {{"test/accuracy", right / 8},
                            {"test/loss", 1 + seed % 3 * 0.25}};
    }
  }
  return grid;
}

TEST(AblationReportTest, WarnsIfCellsDifferInMoreThanTheirAxis) {
  const ResultGrid grid = TwoCells("rate: 2\nwidth: 16\n");
  EXPECT_THAT(
      ReportMarkdown(AblationReport(grid)),
      HasSubstr("## Warnings\n\nwidth 16 and width 8 also differ in fields "
                "outside their axis: rate (2; 1)."));
  EXPECT_THAT(ReportHtml(AblationReport(grid)),
              HasSubstr(">Warnings</h2>\n<p>width 16"));
}

TEST(AblationReportTest, DoesNotWarnIfCellsDifferOnlyInTheirAxis) {
  const ResultGrid grid = TwoCells("rate: 1\nwidth: 16\n");
  EXPECT_THAT(ReportMarkdown(AblationReport(grid)), Not(HasSubstr("Warning")));
  EXPECT_THAT(ReportHtml(AblationReport(grid)), Not(HasSubstr("Warnings")));
}

TEST(AblationReportTest, SaysWhatAllRunsShare) {
  ResultGrid grid = TwoCells("");
  for (const int width : {8, 16}) {
    grid.runs[width / 16].config = *ParseResolvedFields(
        absl::StrCat("rate: 1  # --set\n"
                     "width: ",
                     width,
                     "  # --set\n"
                     "model {  # configs/a.textproto:3\n"
                     "  heads: 2  # configs/a.textproto:4\n"
                     "  depth: 3  # default\n"
                     "}\n"));
  }
  const std::string text = ReportMarkdown(AblationReport(grid));
  EXPECT_THAT(text, HasSubstr("\n\nAll runs share the config "
                              "configs/a.textproto, with the override "
                              "rate=1.\n"));
  const std::string page = ReportHtml(AblationReport(grid));
  EXPECT_THAT(page, HasSubstr("<td>model.heads</td>"));
  EXPECT_THAT(page, Not(HasSubstr("<td>model.depth</td>")));
  EXPECT_THAT(page, Not(HasSubstr("<td>width</td>")));
  // A run without a config must not change what the other runs share.
  grid.runs[1].config.clear();
  EXPECT_THAT(ReportMarkdown(AblationReport(grid)),
              HasSubstr(", with the overrides rate=1 and width=8."));
}

TEST(AblationReportTest, NamesTheDataThatAllRunsShareAndTheirTime) {
  ResultGrid grid = TwoCells("rate: 1  # --set\nwidth: 16  # --set\n");
  grid.runs[0].data = {{"data.path", std::string(64, 'a')},
                       {"data.dev_path", std::string(64, 'b')}};
  grid.runs[1].data = {{"data.path", std::string(64, 'a')},
                       {"data.dev_path", std::string(64, 'c')}};
  for (ComparedRun& run : grid.runs) {
    run.config.front().origin = "--set";
    run.records = {{.step = 1, .seconds = 1}, {.step = 2, .seconds = 90}};
  }
  const std::string text = ReportMarkdown(AblationReport(grid));
  EXPECT_THAT(text, HasSubstr("rate=1. They also share the data data.path "
                              "(SHA-256 aaaaaaaa...).\n"));
  EXPECT_THAT(text, HasSubstr("Training took 3 minutes in total.\n"));
}

TEST(AblationReportTest, FoldsAllMetricsButThePrimaryOne) {
  ResultGrid grid = ThreeWidths(6);
  const std::string page = ReportHtml(AblationReport(grid));
  EXPECT_THAT(page, HasSubstr("<th class=\"n\">n</th><th>test/accuracy</th>"
                              "</tr>"));
  EXPECT_THAT(page, HasSubstr("<details><summary>Other metrics</summary>"));
  grid.primary = "test/loss";
  EXPECT_THAT(ReportMarkdown(AblationReport(grid)),
              HasSubstr("| arm | seeds | test/loss (lower is better) |"));
}

// The accuracy is near 1 and differs between seeds, so the mean plus one
// standard deviation is above 1. The interval must not exceed 1.
TEST(AblationReportTest, IntervalsStayInTheRangeOfTheMetric) {
  ResultGrid grid = TwoCells("width: 16\n");
  ComparedRun run = grid.runs[0];
  for (const double accuracy : {1.0, 1.0, 0.4}) {
    run.seed = absl::StrCat("1", grid.runs.size());
    run.status.metrics = {{"dev/accuracy", accuracy}};
    grid.runs.push_back(run);
  }
  EXPECT_THAT(ReportMarkdown(AblationReport(grid)),
              HasSubstr("| 0.8 (0.35) [0.4, 1] |"));
}

TEST(AblationReportTest, ShowsTestsWithAndWithoutAName) {
  ResultGrid grid = TwoCells("rate: 1\nwidth: 16\n");
  EXPECT_THAT(MetricsToShow(grid), ElementsAre("dev/loss"));
  grid.runs[0].status.metrics["test.news/loss"] = 2;
  EXPECT_THAT(MetricsToShow(grid), ElementsAre("test.news/loss"));
  grid.runs[1].status.metrics["test/loss"] = 3;
  EXPECT_THAT(MetricsToShow(grid), ElementsAre("test.news/loss", "test/loss"));
}

TEST(AblationReportTest, CountsAnExampleOfSeveralRunsOnce) {
  ResultGrid grid = ThreeWidths(6);
  const auto examples_of = [&] { return ReportMarkdown(AblationReport(grid)); };
  EXPECT_THAT(examples_of(), HasSubstr("| 6 | 8 | -0.25 |"));
  // One of the eight examples differs between seeds, so seven are shared.
  for (ComparedRun& run : grid.runs) {
    run.sets[0].examples[7].input = absl::StrCat("of seed ", run.seed);
  }
  EXPECT_THAT(examples_of(),
              HasSubstr("| 6 | 8 per run, 13 different | -0.25 |"));
}

// Compares the reports for three numbers of seeds with a file. With 6 seeds, no
// comparison can be significant. 7 seeds are enough. With 21 seeds, the
// permutation test uses only a sample of the sign combinations.
TEST(AblationReportTest, IsAsInTheFile) {
  std::string text;
  for (const int seeds : {6, 7, 21}) {
    absl::StrAppend(&text, ReportMarkdown(AblationReport(ThreeWidths(seeds))),
                    "\n");
  }
  EXPECT_EQ(text, ReadFile("experiments/ablation/testdata/reports.md").value());
}

TEST(AblationReportTest, SaysInThePageWhatTheSeedsCanDecide) {
  EXPECT_THAT(ReportHtml(AblationReport(ThreeWidths(6))),
              HasSubstr("For 2 comparisons of a metric, a significant "
                        "difference requires at least 7 seeds. With 6 seeds, "
                        "the smallest possible corrected p-value is 0.0625. So "
                        "no difference can be significant"));
}

TEST(AblationCsvTest, QuotesSeparatorsAndLineBreaks) {
  ResultGrid grid = ThreeWidths(1);
  grid.axes[0].values[0].label = "a, \"b\"";
  grid.runs[1].status.metrics["test/loss"] = NAN;
  grid.runs[2].missing = "stopped";
  grid.runs[2].status.metrics.erase("test/accuracy");
  EXPECT_EQ(AblationCsv(grid),
            "width,seed,state,test/accuracy,test/loss\n"
            "\"a, \"\"b\"\"\",0,finished,0,1\n"
            "16,0,finished,0.25,nan\n"
            "none,0,missing,,1\n");
}

// Returns runs of one cell, each with records at the given steps. The loss is 1
// in the first run, 2 in the second, ...
ResultGrid RunsOf(const std::vector<std::vector<int64_t>>& steps) {
  ResultGrid grid;
  for (size_t i = 0; i < steps.size(); ++i) {
    ComparedRun& run = grid.runs.emplace_back();
    run.seed = std::to_string(i);
    for (const int64_t step : steps[i]) {
      run.records.push_back(
          {.step = step,
           .metrics = {{"dev/loss", static_cast<double>(i + 1)}}});
    }
  }
  return grid;
}

TEST(CurvePlotsTest, ACurveEndsWhereTheFirstFinishedRunEnds) {
  ResultGrid grid = RunsOf({{10, 20}, {10, 20, 30}, {10}});
  grid.runs[2].missing = "failed";
  const std::vector<Plot> plots = CurvePlots(grid);
  ASSERT_EQ(plots.size(), 1u);
  EXPECT_THAT(plots[0].series[0].xs, ElementsAre(10, 20));
  EXPECT_THAT(plots[0].series[0].ys, ElementsAre(1.5, 1.5));
}

// A run that replaces its last weights measures its last step twice. The second
// measurement must not count as another seed.
TEST(CurvePlotsTest, AStepMeasuredTwiceCountsAsOneSeed) {
  ResultGrid grid = RunsOf({{10, 20, 20}, {10, 20, 20, 30, 30}});
  grid.runs[0].records[2].metrics["dev/loss"] = 5;
  const std::vector<Plot> plots = CurvePlots(grid);
  ASSERT_EQ(plots.size(), 1u);
  EXPECT_THAT(plots[0].series[0].xs, ElementsAre(10, 20));
  EXPECT_THAT(plots[0].series[0].ys, ElementsAre(1.5, 3.5));
}

TEST(CurvePlotsTest, TheLastStepsOfRunsAreNotACurve) {
  EXPECT_TRUE(CurvePlots(RunsOf({{20}, {30}})).empty());
}

TEST(AblationReportTest, NamesCellsWithoutAttention) {
  ResultGrid grid = TwoCells("rate: 1\nwidth: 16\n");
  grid.axes[0].values.push_back({"32", {"width=32"}});
  ComparedRun run = grid.runs[1];
  run.coordinates = {2};
  run.maps.clear();
  grid.runs.push_back(run);
  const std::string page = ReportHtml(AblationReport(grid));
  EXPECT_THAT(page, HasSubstr("Side by side: the cat</h2>"));
  EXPECT_THAT(page, HasSubstr("<figcaption>width 16</figcaption>"));
  EXPECT_THAT(page,
              HasSubstr("These cells have no weights for this source: width "
                        "32."));
}

using ::testing::ElementsAre;
using ::testing::IsEmpty;

LabelledMatrix Map(const std::string& title, double weight, int size = 1) {
  LabelledMatrix map;
  map.title = title;
  map.rows.assign(size, "r");
  map.columns.assign(size, "c");
  map.heads.emplace_back(size * size, weight);
  return map;
}

// Returns a grid with one axis of three scores, and two seeds. Run i shows
// maps[i].
ResultGrid GridOf(const std::vector<std::vector<LabelledMatrix>>& maps) {
  ResultGrid grid;
  grid.axes = {{"score", {{"additive", {}}, {"dot", {}}, {"cosine", {}}}, 0}};
  for (size_t i = 0; i < maps.size(); ++i) {
    ComparedRun run;
    run.coordinates = {i / 2};
    run.seed = std::to_string(i % 2);
    run.maps = maps[i];
    grid.runs.push_back(run);
  }
  return grid;
}

const std::vector<LabelledMatrix>& MapsOf(const Section& section) {
  return std::get<Maps>(section.blocks.at(2)).maps;
}

std::vector<std::string> Titles(const Section& section) {
  std::vector<std::string> titles;
  for (const LabelledMatrix& map : MapsOf(section)) titles.push_back(map.title);
  return titles;
}

std::string NoteOf(const Section& section) {
  return std::get<std::string>(section.blocks.at(1));
}

TEST(AttentionSideBySideTest, ShowsTheSameSourceOfOneSeedInEveryCell) {
  const ResultGrid grid = GridOf({{Map("a cat", 0.1), Map("a dog", 0.2)},
                                  {Map("a cat", 9)},
                                  {Map("a dog", 0.4), Map("a cat", 0.3)},
                                  {Map("a cat", 9)},
                                  {Map("a cat", 0.5), Map("a dog", 0.6)},
                                  {}});
  const std::vector<Section> sources = AttentionSideBySide(grid);
  ASSERT_EQ(sources.size(), 2u);
  EXPECT_EQ(sources[0].title, "Side by side: a cat");
  EXPECT_THAT(NoteOf(sources[0]), HasSubstr("with seed 0."));
  EXPECT_THAT(Titles(sources[0]), ElementsAre("additive", "dot", "cosine"));
  EXPECT_EQ(MapsOf(sources[0])[1].heads[0][0], 0.3);
  EXPECT_THAT(NoteOf(sources[0]), Not(HasSubstr("Without")));
  EXPECT_EQ(sources[1].title, "Side by side: a dog");
  EXPECT_EQ(MapsOf(sources[1])[2].heads[0][0], 0.6);
}

TEST(AttentionSideBySideTest, SourcesOfMostCellsComeFirst) {
  const ResultGrid grid = GridOf({{Map("few", 0), Map("all", 0), Map("one", 0)},
                                  {},
                                  {Map("few", 0), Map("all", 0), Map("few", 0)},
                                  {},
                                  {Map("all", 0)},
                                  {}});
  const std::vector<Section> sources = AttentionSideBySide(grid);
  ASSERT_EQ(sources.size(), 2u);
  EXPECT_EQ(sources[0].title, "Side by side: all");
  EXPECT_EQ(sources[1].title, "Side by side: few");
  EXPECT_THAT(NoteOf(sources[1]), HasSubstr("for this source: cosine."));
}

TEST(AttentionSideBySideTest, ASeedWithoutMapsIsSkipped) {
  const ResultGrid grid =
      GridOf({{}, {Map("s", 1)}, {}, {Map("s", 2)}, {}, {Map("s", 3)}});
  const std::vector<Section> sources = AttentionSideBySide(grid);
  ASSERT_EQ(sources.size(), 1u);
  EXPECT_THAT(NoteOf(sources[0]), HasSubstr("with seed 1."));
}

TEST(AttentionSideBySideTest, NothingIsSharedByOneCell) {
  EXPECT_THAT(AttentionSideBySide(GridOf({{Map("s", 1)}, {Map("s", 1)}})),
              IsEmpty());
  EXPECT_THAT(AttentionSideBySide(GridOf({})), IsEmpty());
}

TEST(AttentionSideBySideTest, APageHoldsSoManySquares) {
  const ResultGrid grid = GridOf(
      {{Map("s", 1, 200)}, {}, {Map("s", 1, 200)}, {}, {Map("s", 1, 10)}, {}});
  const std::vector<Section> sources = AttentionSideBySide(grid);
  ASSERT_EQ(sources.size(), 1u);
  EXPECT_THAT(Titles(sources[0]), ElementsAre("additive"));
  EXPECT_THAT(NoteOf(sources[0]), HasSubstr("page small: dot; cosine."));
}

}  // namespace
}  // namespace regard
