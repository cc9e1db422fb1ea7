#include "experiments/report/forest_plot.h"

#include <cmath>
#include <string>

#include "experiments/report/run_results.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

ForestPlot TwoArms() {
  return {.title = "test/bleu by score",
          .metric = "test/bleu (higher is better)",
          .baseline = "additive",
          .rows = {{.label = "additive", .values = {36, 37, 38}},
                   {.label = "dot <b>",
                    .values = {38, 39, 40},
                    .differences = {2, 2, 2.5},
                    .low = 2,
                    .high = 2.5,
                    .verdict = "significantly higher (better)",
                    .tone = ForestRow::Tone::kBetter}},
          .legend = "Dots & bars."};
}

int Count(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos;
       at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

TEST(ForestFigureTest, DrawsSeedsMeansAndDifferences) {
  const std::string figure = ForestFigure(TwoArms());
  EXPECT_EQ(Count(figure, "<circle class=\"seed\""), 6);
  EXPECT_EQ(Count(figure, "<circle class=\"pair\""), 3);
  EXPECT_EQ(Count(figure, "<line class=\"mean\""), 2);
  EXPECT_EQ(Count(figure, "<line class=\"interval yes\""), 1);
  EXPECT_EQ(Count(figure, "<circle class=\"difference yes\""), 1);
  EXPECT_THAT(figure, HasSubstr(">+2.167 [2, 2.5]</text>"));
  EXPECT_THAT(figure, HasSubstr(">significantly higher (better)</text>"));
  EXPECT_THAT(figure, HasSubstr(">difference from additive</text>"));
  EXPECT_THAT(figure, HasSubstr(">baseline</text>"));
  EXPECT_THAT(figure, HasSubstr("Dots &amp; bars."));
  EXPECT_THAT(figure, Not(HasSubstr("<b>")));
}

// The scale extends the range of the values by 6 % on both sides. The column is
// from 176 to 398, so 36 must be at 0.06 / 1.12 of it, and 40 at 1.06 / 1.12.
TEST(ForestFigureTest, PlacesValuesOnOneScale) {
  const std::string figure = ForestFigure(TwoArms());
  EXPECT_THAT(figure, HasSubstr("<circle class=\"seed\" cx=\"187.89\""));
  EXPECT_THAT(figure, HasSubstr("<circle class=\"seed\" cx=\"386.11\""));
}

TEST(ForestFigureTest, HasNoDifferencesWithoutABaseline) {
  ForestPlot plot = TwoArms();
  plot.baseline.clear();
  const std::string figure = ForestFigure(plot);
  EXPECT_EQ(Count(figure, "<circle class=\"seed\""), 6);
  EXPECT_THAT(figure, Not(HasSubstr("class=\"pair\"")));
  EXPECT_THAT(figure, Not(HasSubstr("difference")));
  EXPECT_THAT(ForestTable(plot).header,
              ElementsAre("arm", "seeds", "test/bleu (higher is better)"));
}

TEST(ForestFigureTest, DrawsNoIntervalOfTooFewSeeds) {
  ForestPlot plot = TwoArms();
  plot.rows[1].low = plot.rows[1].high = 0;
  const std::string figure = ForestFigure(plot);
  EXPECT_THAT(figure, Not(HasSubstr("class=\"interval")));
  EXPECT_THAT(figure, HasSubstr(">+2.167</text>"));
}

TEST(ForestFigureTest, SurvivesArmsWithoutNumbers) {
  ForestPlot plot = TwoArms();
  plot.rows[0].values = {NAN};
  plot.rows[1].values.clear();
  plot.rows[1].differences.clear();
  plot.rows[1].low = plot.rows[1].high = 0;
  plot.rows[1].verdict = "3 pairs missing";
  const std::string figure = ForestFigure(plot);
  EXPECT_THAT(figure, HasSubstr(">missing</text>"));
  EXPECT_THAT(figure, HasSubstr(">3 pairs missing</text>"));
  EXPECT_THAT(figure, Not(HasSubstr("\"nan\"")));
  EXPECT_THAT(figure, Not(HasSubstr("\"-nan\"")));
  EXPECT_THAT(figure, Not(HasSubstr("inf")));
}

TEST(ForestTableTest, HasTheNumbersOfTheFigure) {
  const Table table = ForestTable(TwoArms());
  EXPECT_THAT(
      table.header,
      ElementsAre("arm", "seeds", "test/bleu (higher is better)",
                  "difference from additive [95 % interval]", "verdict"));
  EXPECT_THAT(table.rows[0],
              ElementsAre("additive", "3", "37 (1)", "", "baseline"));
  EXPECT_THAT(table.rows[1],
              ElementsAre("dot <b>", "3", "39 (1)", "+2.167 [2, 2.5]",
                          "significantly higher (better)"));
}

}  // namespace
}  // namespace regard
