#include "autodiff/shape.h"

#include <cstdint>

#include "gtest/gtest.h"

namespace regard {
namespace {

TEST(ShapeTest, ViewsAnArrayAsAMatrix) {
  const Shape shape = {2, 3, 5};
  EXPECT_EQ(shape.size(), 30);
  EXPECT_EQ(shape.rows(), 6);
  EXPECT_EQ(shape.cols(), 5);
  EXPECT_EQ(Shape().size(), 1);
  EXPECT_EQ(Shape({4, 0}).size(), 0);
  EXPECT_EQ(shape.ToString(), "[2, 3, 5]");
}

TEST(ShapeTest, StrideIsTheProductOfTheExtentsBehind) {
  const Shape shape = {2, 3, 5};
  EXPECT_EQ(shape.Stride(0), 15);
  EXPECT_EQ(shape.Stride(1), 5);
  EXPECT_EQ(shape.Stride(-1), 1);
}

TEST(ShapeTest, SizesAndStridesMayExceed32Bits) {
  const Shape scores = {2, 32, 8192, 8192};
  EXPECT_EQ(scores.size(), int64_t{1} << 32);
  EXPECT_EQ(scores.Stride(0), int64_t{1} << 31);
  EXPECT_EQ(scores.rows(), 524288);
}

TEST(ShapeTest, WithChangesOneExtent) {
  EXPECT_EQ(Shape({2, 3}).With(-1, 7), Shape({2, 7}));
  EXPECT_EQ(Shape({2, 3}).With(0, INT32_MAX)[0], INT32_MAX);
}

TEST(ShapeTest, AxesAreInsertedAndRemoved) {
  EXPECT_EQ(Shape({2, 3}).Insert(0, 7), Shape({7, 2, 3}));
  EXPECT_EQ(Shape({2, 3}).Insert(-2, 7), Shape({2, 7, 3}));
  EXPECT_EQ(Shape({2, 3}).Insert(-1, 7), Shape({2, 3, 7}));
  EXPECT_EQ(Shape().Insert(-1, 7), Shape({7}));
  EXPECT_EQ(Shape({2, 3, 5}).Remove(0), Shape({3, 5}));
  EXPECT_EQ(Shape({2, 3, 5}).Remove(-1), Shape({2, 3}));
  EXPECT_EQ(Shape({2}).Remove(0), Shape());
}

TEST(ShapeDeathTest, RefusesExtentsOutOfRange) {
  EXPECT_DEATH(Shape({2, -1}), "extent -1 of axis 1");
  EXPECT_DEATH(Shape({int64_t{1} << 32}), "extent 4294967296 of axis 0");
  EXPECT_DEATH(Shape({2, 3}).With(1, (int64_t{1} << 32) + 3),
               "extent 4294967299 of axis 1");
  EXPECT_DEATH(Shape({2, 3}).With(0, -1), "extent -1 of axis 0");
  EXPECT_DEATH(Shape({1, 1, 1, 1, 1, 1}), "rank 6");
  EXPECT_DEATH(Shape({1, 1, 1, 1, 1}).Insert(0, 1), "rank 6");
  EXPECT_DEATH(Shape({2, 3}).Insert(3, 1), "axis 3 of");
}

TEST(ShapeDeathTest, RefusesSizesThatOverflow) {
  constexpr int64_t kLarge = int64_t{1} << 30;
  EXPECT_EQ(Shape({kLarge, kLarge / 4}).size(), int64_t{1} << 58);
  EXPECT_DEATH(Shape({kLarge, kLarge}), "has too many elements");
  EXPECT_DEATH(Shape({kLarge, kLarge, kLarge, kLarge, 16}),
               "has too many elements");
  // The check must fail, because rows() would overflow, although size() is 0.
  EXPECT_DEATH(Shape({kLarge, kLarge, kLarge, 0}), "has too many elements");
  EXPECT_DEATH(Shape({kLarge, 1, kLarge / 4}).With(1, 4),
               "has too many elements");
}

}  // namespace
}  // namespace regard
