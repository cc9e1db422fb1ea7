#include "experiments/report/plot.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// The numbers that the figure hands to the script.
nlohmann::json Data(const std::string& html) {
  const std::string open = "<script type=\"application/json\">";
  const size_t begin = html.find(open) + open.size();
  return nlohmann::json::parse(
      html.substr(begin, html.find("</script>", begin) - begin));
}

TEST(PlotFigureTest, HandsOverItsNumbers) {
  const Plot plot = {
      .title = "Loss",
      .x_label = "step",
      .y_label = "nats",
      .series = {{.name = "train", .xs = {1, 2}, .ys = {0.5, 0.25}}},
      .logarithmic_y = true};
  const nlohmann::json data = Data(PlotFigure(plot));
  EXPECT_EQ(data["x"], "step");
  EXPECT_EQ(data["y"], "nats");
  EXPECT_EQ(data["log"], true);
  EXPECT_EQ(data["series"][0]["name"], "train");
  EXPECT_EQ(data["series"][0]["style"], "line");
  EXPECT_EQ(data["series"][0]["xs"], nlohmann::json({1, 2}));
  EXPECT_EQ(data["series"][0]["ys"], nlohmann::json({0.5, 0.25}));
}

TEST(PlotFigureTest, DrawsLinesDashedLinesAndPoints) {
  const Plot plot = {.series = {{.name = "a", .xs = {0, 1}, .ys = {0, 1}},
                                {.name = "b",
                                 .xs = {0, 1},
                                 .ys = {1, 0},
                                 .style = SeriesStyle::kDashedLine},
                                {.name = "c",
                                 .xs = {0.5},
                                 .ys = {0.5},
                                 .style = SeriesStyle::kPoints}}};
  const std::string html = PlotFigure(plot);
  EXPECT_THAT(html, HasSubstr("<path class=\"l0\" d=\"M62.0 "));
  EXPECT_THAT(html, HasSubstr("<path class=\"l1 dash\""));
  EXPECT_THAT(html, HasSubstr("<circle class=\"p2\""));
}

TEST(PlotFigureTest, DrawsABandWhereThereIsOne) {
  const double nan = std::nan("");
  const Plot plot = {.series = {{.name = "a",
                                 .xs = {0, 1, 2, 3},
                                 .ys = {1, 1, 1, 1},
                                 .band = {0.5, 0.5, nan, 1}},
                                {.name = "b", .xs = {0, 3}, .ys = {1, 2}}}};
  const std::string html = PlotFigure(plot);
  // 634 / 3 apart; the values 0 to 2 span 4 % more than the frame's height.
  EXPECT_THAT(html, HasSubstr("<path class=\"band k0\" d=\"M62.0 76.1L273.3 "
                              "76.1L273.3 189.9L62.0 189.9ZM696.0 "));
  EXPECT_THAT(html, Not(HasSubstr("band k1")));
  const nlohmann::json data = Data(html);
  EXPECT_EQ(data["series"][0]["band"], nlohmann::json({0.5, 0.5, {}, 1}));
  EXPECT_FALSE(data["series"][1].contains("band"));
}

TEST(PlotFigureTest, LeavesAGapWhereAValueIsNotFinite) {
  const Plot plot = {.series = {{.name = "a",
                                 .xs = {0, 1, 2, 3, 4},
                                 .ys = {1, 2, std::nan(""), 1, 2}}}};
  const std::string html = PlotFigure(plot);
  EXPECT_EQ(Data(html)["series"][0]["ys"],
            nlohmann::json({1, 2, nullptr, 1, 2}));
  // Two strokes: the second begins at x = 3 of 4.
  EXPECT_THAT(html, HasSubstr("M537.5 "));
  EXPECT_THAT(html, Not(HasSubstr("nan")));
}

TEST(PlotFigureTest, LeavesOutWhatALogarithmCannotShow) {
  const Plot plot = {
      .series = {{.name = "a", .xs = {0, 1, 2}, .ys = {0, 1, 10}}},
      .logarithmic_y = true};
  EXPECT_THAT(PlotFigure(plot), Not(HasSubstr("inf")));
}

TEST(PlotFigureTest, ThinsALongLineButKeepsItsSpikes) {
  Plot plot = {.series = {{.name = "a"}}};
  for (int i = 0; i < 100'000; ++i) {
    plot.series[0].xs.push_back(i);
    plot.series[0].ys.push_back(i == 12'345 ? 99 : i == 54'321 ? -99 : i % 7);
  }
  const nlohmann::json ys = Data(PlotFigure(plot))["series"][0]["ys"];
  EXPECT_LE(ys.size(), 1000u);
  EXPECT_THAT(ys, ::testing::Contains(99));
  EXPECT_THAT(ys, ::testing::Contains(-99));
}

TEST(PlotFigureTest, DrawsNothingAndOnePoint) {
  EXPECT_THAT(PlotFigure({}), Not(HasSubstr("nan")));
  EXPECT_THAT(PlotFigure({.series = {{.name = "a", .xs = {3}, .ys = {4}}}}),
              Not(HasSubstr("nan")));
}

TEST(PlotFigureTest, ShowsTheSizeOfAValueThatNeverChanges) {
  const std::string html = PlotFigure(
      {.series = {{.name = "a", .xs = {1, 2}, .ys = {0.004, 0.004}}}});
  EXPECT_THAT(html, HasSubstr(">0.002</text>"));
  EXPECT_THAT(html, HasSubstr(">0.004</text>"));
  EXPECT_THAT(html, Not(HasSubstr(">-")));
}

TEST(PlotFigureTest, EndsForValuesAtTheEdgesOfDouble) {
  for (const bool logarithmic : {false, true}) {
    PlotFigure({.series = {{.name = "a", .xs = {0, 1}, .ys = {1e16, 1e16 + 2}},
                           {.name = "b", .xs = {1e300, 2}, .ys = {1, 1}}},
                .logarithmic_y = logarithmic});
    PlotFigure({.series = {{.name = "a",
                            .xs = {-1.7e308, 1.7e308},
                            .ys = {5e-324, 1.7e308}}},
                .logarithmic_y = logarithmic});
    for (const double value : {5e-324, 1.7e308}) {
      EXPECT_THAT(
          PlotFigure({.series = {{.name = "a", .xs = {0}, .ys = {value}}},
                      .logarithmic_y = logarithmic}),
          Not(HasSubstr("nan")));
    }
  }
}

TEST(PlotFigureTest, TextCannotEndTheDataElement) {
  const Plot plot = {.title = "<b>",
                     .x_label = "</script><script>alert(1)</script>",
                     .series = {{.name = "</script>"}}};
  const std::string html = PlotFigure(plot);
  EXPECT_THAT(html, Not(HasSubstr("<b>")));
  EXPECT_THAT(html, Not(HasSubstr("<script>alert")));
  EXPECT_EQ(Data(html)["series"][0]["name"], "</script>");
}

TEST(PlotFigureDeathTest, RejectsSeriesOfUnequalLength) {
  EXPECT_DEATH(PlotFigure({.series = {{.name = "a", .xs = {1}}}}), "1 vs. 0");
}

}  // namespace
}  // namespace regard
