#include "data/images/shapes.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace regard {
namespace {

constexpr int64_t kSide = 40;

std::vector<uint8_t> Drawn(const PlacedShape& shape) {
  std::vector<uint8_t> pixels(kSide * kSide, 0);
  DrawShape(shape, kSide, kSide, absl::MakeSpan(pixels));
  return pixels;
}

PlacedShape Centred(int32_t kind) {
  return {.kind = kind, .y = kSide / 2.0, .x = kSide / 2.0, .radius = 16};
}

double Area(const PlacedShape& shape) {
  const std::vector<uint8_t> pixels = Drawn(shape);
  return std::accumulate(pixels.begin(), pixels.end(), 0.0) / 255;
}

int32_t KindOf(const std::string& name) {
  const std::vector<std::string> names = ShapeNames();
  return static_cast<int32_t>(std::find(names.begin(), names.end(), name) -
                              names.begin());
}

TEST(ShapesTest, AreasMatchGeometry) {
  const double unit = 16 * 16;
  EXPECT_NEAR(Area(Centred(KindOf("circle"))), 3.14159 * unit, 0.01 * unit);
  EXPECT_DOUBLE_EQ(Area(Centred(KindOf("square"))), 4 * .875 * .875 * unit);
  EXPECT_NEAR(Area(Centred(KindOf("triangle"))), 1.8 * 1.8 * .55 * unit,
              0.01 * unit);
  EXPECT_NEAR(Area(Centred(KindOf("cross"))), (4 * .56 - .56 * .56) * unit,
              0.05 * unit);
  EXPECT_NEAR(Area(Centred(KindOf("ring"))), 3.14159 * .65 * unit, 0.01 * unit);
  EXPECT_NEAR(Area(Centred(KindOf("diamond"))), 2 * .6 * unit, 0.01 * unit);
  // The star consists of ten triangles with a corner in the centre. The area of
  // each is sin(36 degrees) / 2 * 0.42.
  EXPECT_NEAR(Area(Centred(KindOf("star"))), 5 * .58779 * .42 * unit,
              0.01 * unit);
}

TEST(ShapesTest, TurnAndAreCutAtTheEdge) {
  PlacedShape square = Centred(KindOf("square"));
  square.radius = 10;
  const double area = Area(square);
  square.angle = 0.4;
  EXPECT_NEAR(Area(square), area, 0.02 * area);
  EXPECT_NE(Drawn(square), Drawn({square.kind, square.y, square.x, 10}));
  square.angle = 0;
  square.x = 0;
  EXPECT_NEAR(Area(square), area / 2, 0.02 * area);
  square.brightness = 0.5;
  EXPECT_NEAR(Area(square), area / 4, 0.02 * area);
}

TEST(ShapesTest, AreAFunctionOfSeedAndSplit) {
  const ImageSet ten = MakeShapes(10, 20, /*seed=*/1, "train");
  const ImageSet more = MakeShapes(30, 20, /*seed=*/1, "train");
  EXPECT_EQ(ten.shape, (ImageShape{1, 20, 20}));
  EXPECT_TRUE(
      std::equal(ten.pixels.begin(), ten.pixels.end(), more.pixels.begin()));
  EXPECT_TRUE(
      std::equal(ten.labels.begin(), ten.labels.end(), more.labels.begin()));
  EXPECT_NE(MakeShapes(10, 20, 2, "train").pixels, ten.pixels);
  EXPECT_NE(MakeShapes(10, 20, 1, "test").pixels, ten.pixels);
  EXPECT_EQ(MakeShapes(0, 20, 1, "test").size(), 0);
}

TEST(ShapesTest, AllKindsOccur) {
  const ImageSet set = MakeShapes(200, 8, /*seed=*/1, "train");
  EXPECT_EQ(std::set<int32_t>(set.labels.begin(), set.labels.end()).size(),
            ShapeNames().size());
}

TEST(ShapesDeathTest, AnUnknownKindIsRefused) {
  EXPECT_DEATH(Drawn(Centred(8)), "shape 8");
}

}  // namespace
}  // namespace regard
