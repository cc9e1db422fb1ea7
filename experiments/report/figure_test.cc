#include "experiments/report/figure.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "experiments/report/run_results.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace regard {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

using Json = nlohmann::ordered_json;

// A figure, and the JSON that the script draws.
struct Drawn {
  std::string html;
  Json data;
};

Drawn Draw(const Plot& plot) {
  Json figures = Json::array();
  const std::string html = PlotFigure(plot, figures);
  return {html, figures[0]};
}

Drawn Draw(const LabelledMatrix& map) {
  Json figures = Json::array();
  const std::string html = HeatMapFigure(map, figures);
  return {html, figures[0]};
}

TEST(PlotFigureTest, PassesItsNumbersToTheScript) {
  const Plot plot = {
      .title = "Loss",
      .x_label = "step",
      .y_label = "nats",
      .series = {{.name = "train", .xs = {1, 2}, .ys = {0.5, 0.25}}},
      .logarithmic_y = true};
  const Json data = Draw(plot).data;
  EXPECT_EQ(data["x"], "step");
  EXPECT_EQ(data["y"], "nats");
  EXPECT_EQ(data["log"], true);
  EXPECT_EQ(data["series"][0]["name"], "train");
  EXPECT_EQ(data["series"][0]["style"], "line");
  EXPECT_EQ(data["series"][0]["xs"], Json({1, 2}));
  EXPECT_EQ(data["series"][0]["ys"], Json({0.5, 0.25}));
}

TEST(PlotFigureTest, WholeNumbersTakeNoPointAndZero) {
  const Plot plot = {.series = {{.xs = {-0.0, 1e6, 2345678, 1e20},
                                 .ys = {0, 2, 123456.7, 0.1}}}};
  const Json series = Draw(plot).data["series"][0];
  EXPECT_EQ(series["xs"].dump(), "[0,1000000,2345680,1e+20]");
  EXPECT_EQ(series["ys"].dump(), "[0,2,123457,0.1]");
}

TEST(PlotFigureTest, DrawsOnceAndNamesTheStyleOfEachSeries) {
  const Plot plot = {.title = "Fit",
                     .series = {{.name = "a", .xs = {0, 1}, .ys = {0, 1}},
                                {.name = "b",
                                 .xs = {0, 1},
                                 .ys = {1, 0},
                                 .style = SeriesStyle::kDashedLine},
                                {.name = "c",
                                 .xs = {0.5},
                                 .ys = {0.5},
                                 .style = SeriesStyle::kPoints}}};
  const auto [html, data] = Draw(plot);
  EXPECT_THAT(html, HasSubstr("<canvas role=\"img\" aria-label=\"Fit\">"));
  EXPECT_THAT(html, HasSubstr("<noscript>"));
  EXPECT_THAT(html, Not(HasSubstr("<svg")));
  EXPECT_EQ(data["series"][0]["style"], "line");
  EXPECT_EQ(data["series"][1]["style"], "dashed");
  EXPECT_EQ(data["series"][2]["style"], "points");
}

TEST(PlotFigureTest, PassesABandToTheScriptIfThereIsOne) {
  const double nan = std::nan("");
  const Plot plot = {.series = {{.name = "a",
                                 .xs = {0, 1, 2, 3},
                                 .ys = {1, 1, 1, 1},
                                 .low = {0.5, 0.5, nan, 0},
                                 .high = {1, 1.5, 2, 3}},
                                {.name = "b", .xs = {0, 3}, .ys = {1, 2}}}};
  const Json data = Draw(plot).data;
  EXPECT_EQ(data["series"][0]["low"], Json({0.5, 0.5, {}, 0}));
  EXPECT_EQ(data["series"][0]["high"], Json({1, 1.5, 2, 3}));
  EXPECT_FALSE(data["series"][1].contains("low"));
}

TEST(PlotFigureTest, AValueThatIsNotFiniteIsNull) {
  const double infinity = std::numeric_limits<double>::infinity();
  const Plot plot = {
      .series = {{.name = "a",
                  .xs = {0, 1, 2, 3, 4},
                  .ys = {1, 1.7e308, std::nan(""), infinity, 5e-324}}}};
  const auto [html, data] = Draw(plot);
  EXPECT_EQ(data["series"][0]["ys"][2], nullptr);
  EXPECT_EQ(data["series"][0]["ys"][3], nullptr);
  EXPECT_THAT(html, Not(HasSubstr("nan")));
  EXPECT_THAT(html, Not(HasSubstr("inf")));
}

TEST(PlotFigureTest, ThinsALongLineButKeepsItsSpikesAndGaps) {
  Plot plot = {.series = {{.name = "a"}}};
  for (int i = 0; i < 100'000; ++i) {
    // The first gap is at the start of a segment with a spike. The second gap
    // follows the other spike.
    const bool gap = i == 12'200 || i == 54'322;
    plot.series[0].xs.push_back(i);
    plot.series[0].ys.push_back(gap           ? std::nan("")
                                : i == 12'345 ? 99
                                : i == 54'321 ? -99
                                              : i % 7);
  }
  const Json ys = Draw(plot).data["series"][0]["ys"];
  EXPECT_LE(ys.size(), 1002u);
  EXPECT_THAT(ys, ::testing::Contains(99));
  EXPECT_THAT(ys, ::testing::Contains(-99));
  EXPECT_EQ(std::count(ys.begin(), ys.end(), nullptr), 2);
}

// Each of 500 segments must keep its minimum and its maximum. If several values
// are equal, it must keep the first.
TEST(PlotFigureTest, KeepsTwoPointsOfAStretchInTheirOrder) {
  const auto kept = [](size_t size, auto y,
                       SeriesStyle style = SeriesStyle::kLine) {
    Plot plot = {.series = {{.name = "a", .style = style}}};
    for (size_t i = 0; i < size; ++i) {
      plot.series[0].xs.push_back(static_cast<double>(i));
      plot.series[0].ys.push_back(y(static_cast<double>(i)));
    }
    return Draw(plot).data["series"][0]["xs"];
  };
  const auto rising = [](double x) { return x; };
  const auto falling = [](double x) { return -x; };
  EXPECT_EQ(kept(1000, rising).size(), 1000u);
  EXPECT_EQ(kept(1001, rising).size(), 1000u);
  EXPECT_EQ(kept(1001, rising, SeriesStyle::kPoints).size(), 1001u);
  Json ends = Json::array();
  Json begins = Json::array();
  for (int i = 0; i < 2000; i += 4) {
    ends.push_back(i);
    ends.push_back(i + 3);
    begins.push_back(i);
  }
  EXPECT_EQ(kept(2000, rising), ends);
  EXPECT_EQ(kept(2000, falling), ends);
  EXPECT_EQ(kept(2000, [](double) { return 1.0; }), begins);
}

TEST(PlotFigureDeathTest, RejectsSeriesOfUnequalLength) {
  EXPECT_DEATH(Draw(Plot{.series = {{.name = "a", .xs = {1}}}}), "1 vs. 0");
}

LabelledMatrix OneByTwo(double first, double second) {
  return {.title = "a title",
          .rows = {"le"},
          .columns = {"the", "cat"},
          .heads = {{first, second}}};
}

TEST(HeatMapFigureTest, ShowsTheNamesAndTheValueOfEachCell) {
  const Json data = Draw(OneByTwo(0.75, 0.25)).data;
  EXPECT_EQ(data["rows"], Json({"le"}));
  EXPECT_EQ(data["columns"], Json({"the", "cat"}));
  EXPECT_EQ(data["heads"][0]["values"], Json({750, 250}));
}

TEST(HeatMapFigureTest, RoundsValuesToThousandths) {
  EXPECT_EQ(Draw(OneByTwo(-0.0004, 0.126)).data["heads"][0]["values"],
            Json({0, 126}));
  EXPECT_EQ(Draw(OneByTwo(-1234.5678, INFINITY)).data["heads"][0]["values"],
            Json({-1234568, "inf"}));
  EXPECT_EQ(Draw(OneByTwo(std::nan(""), 1)).data["heads"][0]["values"],
            Json({"nan", 1000}));
}

// A map of gradients may contain only small values. The figure must keep three
// digits of the largest value.
TEST(HeatMapFigureTest, KeepsThreeDigitsOfTheLargestOfSmallValues) {
  const auto decimals_and_values = [](double first, double second) {
    const Json data = Draw(OneByTwo(first, second)).data;
    return Json{data["decimals"], data["heads"][0]["values"]};
  };
  EXPECT_EQ(decimals_and_values(0.1, 0.0999), (Json{3, {100, 100}}));
  EXPECT_EQ(decimals_and_values(-0.0999, 0.0126), (Json{4, {-999, 126}}));
  EXPECT_EQ(decimals_and_values(3.14159e-7, -1e-9), (Json{9, {314, -1}}));
  EXPECT_EQ(decimals_and_values(1e-310, 0), (Json{300, {0, 0}}));
  EXPECT_EQ(decimals_and_values(0, 0), (Json{3, {0, 0}}));
}

TEST(HeatMapFigureTest, ShowsTheSumOfEachRow) {
  EXPECT_EQ(Draw(OneByTwo(0.75, 0.2)).data["heads"][0]["sums"], Json({"0.95"}));
}

TEST(HeatMapFigureTest, ScalesColorsOfSmallWeightsAndSaysSo) {
  const auto [html, data] = Draw(OneByTwo(0.2, 0.1));
  EXPECT_EQ(data["largest"], 0.2);
  EXPECT_THAT(html, HasSubstr("</span> 0.2 ·"));
  EXPECT_EQ(Draw(OneByTwo(0.6, 0.1)).data["largest"], 1);
}

TEST(HeatMapFigureTest, ShowsNegativeValuesOnASeparateRamp) {
  const auto [html, data] = Draw(OneByTwo(2, -4));
  EXPECT_EQ(data["heads"][0]["values"], Json({2000, -4000}));
  EXPECT_EQ(data["largest"], 4);
  EXPECT_THAT(html, HasSubstr("-4 <span class=\"negative ramp\">"));
  EXPECT_THAT(html, Not(HasSubstr("its sum")));
  EXPECT_FALSE(data["heads"][0].contains("sums"));
  EXPECT_THAT(Draw(OneByTwo(1, 0)).html, Not(HasSubstr("negative")));
}

TEST(HeatMapFigureTest, OutlinesGoldCells) {
  LabelledMatrix map = OneByTwo(0.5, 0.5);
  EXPECT_THAT(Draw(map).html, Not(HasSubstr("gold")));
  map.gold = {{0, 1}};
  EXPECT_EQ(Draw(map).data["gold"], Json::parse("[[0,1]]"));
  EXPECT_THAT(Draw(map).html, HasSubstr("outlined: gold alignment"));
}

TEST(HeatMapFigureTest, PassesEveryHeadToTheScript) {
  LabelledMatrix map = OneByTwo(0.5, 0.5);
  map.heads.resize(48, {1, 0});
  const Json data = Draw(map).data;
  EXPECT_EQ(data["heads"].size(), 48u);
  EXPECT_EQ(data["heads"][47]["values"], Json({1000, 0}));
}

TEST(HeatMapFigureTest, IsShadedWithoutAScript) {
  EXPECT_THAT(Draw(OneByTwo(0.9, 0)).html,
              HasSubstr("<noscript><pre>   the cat\nle ███\n</pre>"));
}

TEST(HeatMapFigureTest, EscapesTokens) {
  LabelledMatrix map = OneByTwo(1, 0);
  map.title = "<script>";
  map.rows = {"</pre>\x1b"};
  map.columns[0] = "\"&";
  const auto [html, data] = Draw(map);
  EXPECT_THAT(html, Not(HasSubstr("<script>")));
  EXPECT_EQ(html.find("</pre>"), html.rfind("</pre>"));
  EXPECT_EQ(data["rows"][0], "</pre>");
  EXPECT_EQ(data["columns"][0], "\"&");
}

// Uses random colours, the worst case for the size of the page.
TEST(HeatMapFigureTest, ACellTakesFewBytes) {
  LabelledMatrix map;
  for (int i = 0; i < 50; ++i) {
    map.rows.push_back(absl::StrCat("a-long-token-", i));
    map.columns.push_back(absl::StrCat("a-long-token-", i));
  }
  std::minstd_rand random(1);
  map.heads.assign(8, std::vector<double>(2500));
  for (std::vector<double>& head : map.heads) {
    for (double& weight : head) {
      weight = static_cast<double>(random() % 1000) / 1000;
    }
  }
  const auto [html, data] = Draw(map);
  EXPECT_LE(html.size() + data.dump().size(), 6u * 8 * 2500);
}

TEST(HeatMapFigureTest, DrawsAnEmptyMatrix) {
  EXPECT_THAT(Draw(LabelledMatrix{.heads = {{}}}).html, HasSubstr("<figure"));
}

TEST(HeatMapFigureDeathTest, RejectsAHeadOfAnotherSize) {
  LabelledMatrix map = OneByTwo(1, 0);
  map.heads[0].push_back(0);
  EXPECT_DEATH(Draw(map), "3 vs. 2");
}

WeightedImage Small() {
  return {.title = "a <coat>",
          .height = 2,
          .width = 4,
          .rgb = std::vector<uint8_t>(24, 128)};
}

TEST(PictureTest, TheImageIsInThePage) {
  const std::string html = WeightedImageFigure(Small());
  EXPECT_THAT(html, StartsWith("<figure class=\"picture\"><figcaption>a "
                               "&lt;coat&gt;</figcaption>"));
  EXPECT_THAT(html, HasSubstr("viewBox=\"0 0 4 2\""));
  // The embedded data must begin with the signature of a PNG file.
  EXPECT_THAT(html, HasSubstr("href=\"data:image/png;base64,iVBORw0KGgo"));
  EXPECT_THAT(html, Not(HasSubstr("<rect")));
}

TEST(PictureTest, WeightsAreFractionsOfTheLargest) {
  WeightedImage picture = Small();
  picture.rows = 1;
  picture.columns = 2;
  picture.weights = {0.1, 0.4};
  picture.gold = {{0, 1}};
  const std::string html = WeightedImageFigure(picture);
  EXPECT_THAT(html,
              HasSubstr("<rect x=\"0\" y=\"0\" width=\"2\" height=\"2\" "
                        "fill-opacity=\"0.20\"><title>0.100</title></rect>"));
  EXPECT_THAT(html,
              HasSubstr("<rect x=\"2\" y=\"0\" width=\"2\" height=\"2\" "
                        "fill-opacity=\"0.80\"><title>0.400</title></rect>"));
  EXPECT_THAT(html, HasSubstr("width=\"2\" height=\"2\" class=\"gold\"/>"));
}

TEST(PictureDeathTest, SizesMustFit) {
  WeightedImage picture = Small();
  picture.weights = {1};
  EXPECT_DEATH(WeightedImageFigure(picture), "picture a <coat>");
  picture.weights.clear();
  picture.rgb.pop_back();
  EXPECT_DEATH(WeightedImageFigure(picture), "23");
}

}  // namespace
}  // namespace regard
