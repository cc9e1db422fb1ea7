#include "experiments/ablation/ablation_report.h"

#include <string>

#include "experiments/ablation/grid.h"
#include "experiments/ablation/resolved_fields.h"
#include "experiments/report/run_results.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Two cells of one seed; the second has `config`.
Grid TwoCells(const std::string& config) {
  Grid grid;
  grid.name = "widths";
  grid.axes = {{"width", {{"8", {"width=8"}}, {"16", {"width=16"}}}, 0}};
  for (size_t i = 0; i < 2; ++i) {
    GridRun run;
    run.coordinates = {i};
    run.seed = std::to_string(0);
    run.metrics = {{"dev/loss", 1.0 + static_cast<double>(i)}};
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

TEST(AblationReportTest, WarnsWhereCellsDifferInMoreThanTheirAxis) {
  const Grid grid = TwoCells("rate: 2\nwidth: 16\n");
  EXPECT_THAT(AblationMarkdown(grid),
              HasSubstr("**Warning:** width 16 and width 8 differ in more than "
                        "their axis: also in rate (2; 1)."));
  EXPECT_THAT(AblationHtml(grid), HasSubstr(">Warnings</h2>\n<p>width 16"));
}

TEST(AblationReportTest, IsQuietWhereTheyDifferInTheirAxisAlone) {
  const Grid grid = TwoCells("rate: 1\nwidth: 16\n");
  EXPECT_THAT(AblationMarkdown(grid), Not(HasSubstr("Warning")));
  EXPECT_THAT(AblationHtml(grid), Not(HasSubstr("Warnings")));
}

TEST(AblationReportTest, SaysWhoseAttentionIsNotThere) {
  Grid grid = TwoCells("rate: 1\nwidth: 16\n");
  grid.axes[0].values.push_back({"32", {"width=32"}});
  GridRun run = grid.runs[1];
  run.coordinates = {2};
  run.maps.clear();
  grid.runs.push_back(run);
  const std::string page = AblationHtml(grid);
  EXPECT_THAT(page, HasSubstr("Side by side: the cat</h2>"));
  EXPECT_THAT(page, HasSubstr("<figcaption>width 16</figcaption>"));
  EXPECT_THAT(page, HasSubstr("Without weights for this source: width 32."));
}

}  // namespace
}  // namespace regard
