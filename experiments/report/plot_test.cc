#include "experiments/report/plot.h"

#include <cmath>
#include <limits>
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
  const std::string html = PlotFigure(plot);
  EXPECT_THAT(html, HasSubstr("<canvas role=\"img\" aria-label=\"Fit\">"));
  EXPECT_THAT(html, HasSubstr("<noscript>"));
  EXPECT_THAT(html, Not(HasSubstr("<svg")));
  const nlohmann::json data = Data(html);
  EXPECT_EQ(data["series"][0]["style"], "line");
  EXPECT_EQ(data["series"][1]["style"], "dashed");
  EXPECT_EQ(data["series"][2]["style"], "points");
}

TEST(PlotFigureTest, HandsOverABandWhereThereIsOne) {
  const double nan = std::nan("");
  const Plot plot = {.series = {{.name = "a",
                                 .xs = {0, 1, 2, 3},
                                 .ys = {1, 1, 1, 1},
                                 .band = {0.5, 0.5, nan, 1}},
                                {.name = "b", .xs = {0, 3}, .ys = {1, 2}}}};
  const nlohmann::json data = Data(PlotFigure(plot));
  EXPECT_EQ(data["series"][0]["band"], nlohmann::json({0.5, 0.5, {}, 1}));
  EXPECT_FALSE(data["series"][1].contains("band"));
}

TEST(PlotFigureTest, AValueThatIsNotFiniteIsNull) {
  const double infinity = std::numeric_limits<double>::infinity();
  const Plot plot = {
      .series = {{.name = "a",
                  .xs = {0, 1, 2, 3, 4},
                  .ys = {1, 1.7e308, std::nan(""), infinity, 5e-324}}}};
  const std::string html = PlotFigure(plot);
  EXPECT_EQ(Data(html)["series"][0]["ys"][2], nullptr);
  EXPECT_EQ(Data(html)["series"][0]["ys"][3], nullptr);
  EXPECT_THAT(html, Not(HasSubstr("nan")));
  EXPECT_THAT(html, Not(HasSubstr("inf")));
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
