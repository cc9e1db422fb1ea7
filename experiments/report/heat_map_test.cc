#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "experiments/report/figure.h"
#include "experiments/report/run_results.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

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

TEST(ShownTitleTest, IsTheHookPointIfThereIsOne) {
  LabelledMatrix map = {.title = "decoder.0.self: a text: b"};
  EXPECT_EQ(FullTitle(map), "decoder.0.self: a text: b");
  map.site = "decoder/layers[0]/self/attention/weights";
  EXPECT_EQ(FullTitle(map),
            "decoder/layers[0]/self/attention/weights: a text: b");
  map.title = "decoder.0.self";
  EXPECT_EQ(FullTitle(map), "decoder/layers[0]/self/attention/weights");
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

TEST(DrawHeatMapTest, NegativeAndInfiniteWeightsHaveSeparateColors) {
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

TEST(DrawHeatMapTest, ASmallCellHasNoBorder) {
  for (const int columns : {64, 65}) {
    LabelledMatrix map = Matrix(1, columns, std::vector<double>(columns, 1.0));
    map.gold = {{0, 0}};
    const HeatMapImage image = DrawHeatMap(map, 0);
    EXPECT_EQ(image.height, columns == 64 ? 4 : 3);
    EXPECT_EQ(Pixel(image, 0, 0)[0], columns == 64 ? 224 : 8);
  }
}

TEST(ColorOfTest, StopsAreAtEqualDistances) {
  const auto stops_of = [](double largest) {
    std::vector<Rgb> stops;
    for (int i = 0; i <= 4; ++i) stops.push_back(ColorOf(largest * i / 4, 2));
    return stops;
  };
  EXPECT_THAT(stops_of(2),
              ElementsAre(Rgb{243, 246, 246}, Rgb{188, 224, 212},
                          Rgb{70, 169, 189}, Rgb{33, 93, 160}, Rgb{8, 24, 84}));
  EXPECT_THAT(stops_of(-2),
              ElementsAre(Rgb{243, 246, 246}, Rgb{247, 212, 166},
                          Rgb{232, 144, 76}, Rgb{184, 76, 24}, Rgb{92, 24, 8}));
  // The first weight is at a quarter of the way between the first two colours.
  // The other weights are beyond the ends of the scale.
  EXPECT_EQ(ColorOf(0.125, 2), (Rgb{229, 241, 238}));
  EXPECT_EQ(ColorOf(3, 2), (Rgb{8, 24, 84}));
  EXPECT_EQ(ColorOf(-3, 2), (Rgb{92, 24, 8}));
}

TEST(DrawHeatMapDeathTest, RequiresACell) {
  EXPECT_DEATH(DrawHeatMap(Matrix(1, 0, {}), 0), "0 vs. 0");
}

}  // namespace
}  // namespace regard
