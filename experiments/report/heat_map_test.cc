#include "experiments/report/heat_map.h"

#include <array>
#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "experiments/report/run_results.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

int Count(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos;
       at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

LabelledMatrix OneByTwo(double first, double second) {
  return {.title = "a title",
          .rows = {"le"},
          .columns = {"the", "cat"},
          .heads = {{first, second}}};
}

TEST(HeatMapFigureTest, TellsEveryCellsNamesAndValue) {
  const std::string html = HeatMapFigure(OneByTwo(0.75, 0.25), "map");
  EXPECT_THAT(html, HasSubstr("data-rows=\"le\" data-columns=\"the\ncat\""));
  EXPECT_THAT(html, HasSubstr("data-values=\"750,250\""));
}

TEST(HeatMapFigureTest, RoundsValuesToThousandthsAndLeavesZerosOut) {
  EXPECT_THAT(HeatMapFigure(OneByTwo(-0.0004, 0.0126), "map"),
              HasSubstr("data-values=\",13\""));
  EXPECT_THAT(HeatMapFigure(OneByTwo(-1234.5678, INFINITY), "map"),
              HasSubstr("data-values=\"-1234568,inf\""));
}

// Behind them, a line of the most frequent colour.
TEST(HeatMapFigureTest, DrawsCellsOfAColorAsStrokes) {
  const LabelledMatrix map = {.rows = {"a", "b"},
                              .columns = {"c", "d", "e"},
                              .heads = {{0, 0, 1, 0.5, 0.5, 0}}};
  const std::string html = HeatMapFigure(map, "map");
  EXPECT_THAT(html, HasSubstr("<path class=a stroke-width=2 d=\"M0 0.5h3\"/>"
                              "<path class=k d=\"M0 1h2\"/>"
                              "<path class=u d=\"M2 0h1\"/></g>"));
}

TEST(HeatMapFigureTest, ShowsTheSumOfEachRow) {
  EXPECT_THAT(HeatMapFigure(OneByTwo(0.75, 0.2), "map"), HasSubstr(">0.95<"));
}

TEST(HeatMapFigureTest, ScalesColorsOfSmallWeightsAndSaysSo) {
  const std::string html = HeatMapFigure(OneByTwo(0.2, 0.1), "map");
  EXPECT_THAT(html, HasSubstr("class=k stroke-width=1 d=\"M0 0.0h2\""));
  EXPECT_THAT(html, HasSubstr("class=u d=\"M0 0h1\""));
  EXPECT_THAT(html, HasSubstr("</span> 0.2 ·"));
}

TEST(HeatMapFigureTest, ShowsNegativeValuesOnARampOfTheirOwn) {
  const std::string html = HeatMapFigure(OneByTwo(2, -4), "map");
  EXPECT_THAT(html, HasSubstr("data-values=\"2000,-4000\""));
  EXPECT_THAT(html, HasSubstr("class=U stroke-width=1"));
  EXPECT_THAT(html, HasSubstr("class=k d=\"M0 0h1\""));
  EXPECT_THAT(html, HasSubstr("-4 <span class=\"negative ramp\">"));
  EXPECT_THAT(html, Not(HasSubstr("its sum")));
  EXPECT_THAT(html, Not(HasSubstr("class=\"sum\"")));
  EXPECT_THAT(HeatMapFigure(OneByTwo(1, 0), "map"), Not(HasSubstr("negative")));
}

TEST(HeatMapFigureTest, GivesWeightsThatAreNotNumbersTheirOwnColor) {
  const std::string html = HeatMapFigure(OneByTwo(std::nan(""), 1), "map");
  EXPECT_THAT(html, HasSubstr("data-values=\"nan,1000\""));
  EXPECT_THAT(html, HasSubstr("class=z d=\"M0 0h1\""));
}

TEST(HeatMapFigureTest, OutlinesGoldCells) {
  LabelledMatrix map = OneByTwo(0.5, 0.5);
  EXPECT_THAT(HeatMapFigure(map, "map"), Not(HasSubstr("gold")));
  map.gold = {{0, 1}};
  EXPECT_EQ(Count(HeatMapFigure(map, "map"), "class=\"gold\""), 1);
}

TEST(HeatMapFigureTest, LetsTheReaderChooseAHeadWithoutAScript) {
  LabelledMatrix map = OneByTwo(0.5, 0.5);
  EXPECT_THAT(HeatMapFigure(map, "map"), Not(HasSubstr("<input")));
  map.heads.push_back({1, 0});
  const std::string html = HeatMapFigure(map, "map");
  EXPECT_EQ(Count(html, "<input"), 2);
  EXPECT_EQ(Count(html, " checked"), 1);
  EXPECT_EQ(Count(html, "data-values"), 2);
  EXPECT_THAT(html, Not(HasSubstr("<script")));
}

TEST(HeatMapFigureTest, ShowsTheFirstOfManyHeads) {
  LabelledMatrix map = OneByTwo(0.5, 0.5);
  map.heads.resize(32, {1, 0});
  EXPECT_THAT(HeatMapFigure(map, "map"), Not(HasSubstr("the first")));
  map.heads.resize(48, {1, 0});
  const std::string html = HeatMapFigure(map, "map");
  EXPECT_EQ(Count(html, "<input"), 32);
  EXPECT_EQ(Count(html, "data-values"), 32);
  EXPECT_THAT(html, HasSubstr("the first 32 of 48 heads"));
}

TEST(HeatMapFigureTest, EscapesTokens) {
  LabelledMatrix map = OneByTwo(1, 0);
  map.title = "<script>";
  map.rows = {"</svg>"};
  map.columns[0] = "\"&";
  const std::string html = HeatMapFigure(map, "map");
  EXPECT_THAT(html, Not(HasSubstr("<script>")));
  EXPECT_EQ(Count(html, "</svg>"), 1);
  EXPECT_THAT(html, HasSubstr("data-rows=\"&lt;/svg&gt;\""));
  EXPECT_THAT(html, HasSubstr("&quot;&amp;"));
}

// Of all colours at random: no map is larger.
TEST(HeatMapFigureTest, ACellTakesFewBytes) {
  LabelledMatrix map;
  for (int i = 0; i < 50; ++i) {
    map.rows.push_back(absl::StrCat("a-long-token-", i));
    map.columns.push_back(absl::StrCat("a-long-token-", i));
  }
  std::minstd_rand random(1);
  map.heads.assign(8, std::vector<double>(2500));
  for (std::vector<double>& head : map.heads) {
    for (double& weight : head)
      weight = static_cast<double>(random() % 1000) / 1000;
  }
  EXPECT_LE(HeatMapFigure(map, "map").size(), 14u * 8 * 2500);
}

TEST(HeatMapFigureTest, DrawsAnEmptyMatrix) {
  EXPECT_THAT(HeatMapFigure({.heads = {{}}}, "map"), HasSubstr("<svg"));
}

TEST(HeatMapFigureDeathTest, RejectsAHeadOfAnotherSize) {
  LabelledMatrix map = OneByTwo(1, 0);
  map.heads[0].push_back(0);
  EXPECT_DEATH(HeatMapFigure(map, "map"), "3 vs. 2");
}

TEST(HeatMapStyleTest, HasARampForLightAndForDarkPages) {
  const std::string style = HeatMapStyle();
  EXPECT_EQ(Count(style, "{--ramp"), 2);
  EXPECT_EQ(Count(style, "{--negative-ramp"), 2);
  EXPECT_EQ(Count(style, ".hm .a{"), 2);
  EXPECT_EQ(Count(style, ".hm .u{"), 2);
}

using ::testing::ElementsAre;

std::array<int, 3> Pixel(const HeatMapImage& image, int y, int x) {
  const uint8_t* const pixel = &image.rgb[(y * image.width + x) * 3];
  return {pixel[0], pixel[1], pixel[2]};
}

LabelledMatrix Matrix(int rows, int columns, std::vector<double> weights) {
  LabelledMatrix map;
  map.rows.assign(rows, "r");
  map.columns.assign(columns, "c");
  map.heads.push_back(std::move(weights));
  return map;
}

TEST(DrawHeatMapTest, ColorsRunFromZeroToOne) {
  const HeatMapImage image = DrawHeatMap(Matrix(1, 3, {0, 1, 0.25}), 0);
  EXPECT_EQ(image.height, 8);
  EXPECT_EQ(image.width, 24);
  EXPECT_THAT(Pixel(image, 0, 0), ElementsAre(243, 246, 246));
  EXPECT_THAT(Pixel(image, 7, 8), ElementsAre(8, 24, 84));
  EXPECT_THAT(Pixel(image, 7, 15), ElementsAre(8, 24, 84));
  EXPECT_THAT(Pixel(image, 3, 16), ElementsAre(188, 224, 212));
}

TEST(DrawHeatMapTest, RowsGoDown) {
  const HeatMapImage image = DrawHeatMap(Matrix(2, 1, {0, 1}), 0);
  EXPECT_EQ(image.height, 16);
  EXPECT_EQ(image.width, 8);
  EXPECT_THAT(Pixel(image, 0, 0), ElementsAre(243, 246, 246));
  EXPECT_THAT(Pixel(image, 15, 0), ElementsAre(8, 24, 84));
}

TEST(DrawHeatMapTest, NegativeAndInfiniteWeightsHaveColorsOfTheirOwn) {
  const HeatMapImage image = DrawHeatMap(Matrix(1, 2, {-2, INFINITY}), 0);
  EXPECT_THAT(Pixel(image, 0, 0), ElementsAre(92, 24, 8));
  EXPECT_THAT(Pixel(image, 0, 8), ElementsAre(95, 103, 116));
}

TEST(DrawHeatMapTest, AGoldCellHasABorder) {
  LabelledMatrix map = Matrix(1, 2, {1, 1});
  map.gold = {{0, 1}};
  const HeatMapImage image = DrawHeatMap(map, 0);
  for (const int edge : {8, 15}) {
    EXPECT_THAT(Pixel(image, 3, edge), ElementsAre(224, 123, 0));
  }
  for (const int edge : {0, 7}) {
    EXPECT_THAT(Pixel(image, edge, 12), ElementsAre(224, 123, 0));
  }
  EXPECT_THAT(Pixel(image, 3, 12), ElementsAre(8, 24, 84));
  EXPECT_THAT(Pixel(image, 3, 7), ElementsAre(8, 24, 84));
}

TEST(DrawHeatMapTest, AWideMatrixHasSmallCells) {
  const HeatMapImage image =
      DrawHeatMap(Matrix(2, 400, std::vector<double>(800, 0.0)), 0);
  EXPECT_EQ(image.height, 2);
  EXPECT_EQ(image.width, 400);
}

TEST(DrawHeatMapDeathTest, WantsACell) {
  EXPECT_DEATH(DrawHeatMap(Matrix(1, 0, {}), 0), "0 vs. 0");
}

}  // namespace
}  // namespace regard
