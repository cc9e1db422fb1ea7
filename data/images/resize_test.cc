// Tests values computed by hand. pillow_test.cc compares with Pillow.
#include "data/images/resize.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "data/images/image_set.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

ByteImage Row(std::vector<uint8_t> pixels) {
  const auto width = static_cast<int64_t>(pixels.size());
  return {.shape = {1, 1, width}, .pixels = std::move(pixels)};
}

TEST(ResizeImageTest, AHalfIsAWeightedMeanOfFour) {
  // The triangular filters around 1 and 3 have a width of four. Their weights
  // are 3/7, 3/7 and 1/7, because the fourth pixel would lie outside.
  EXPECT_THAT(
      ResizeImage(Row({0, 80, 160, 240}), 1, 2, Resampling::kBilinear).pixels,
      ElementsAre(57, 183));
}

TEST(ResizeImageTest, ADoubleLiesBetweenNeighbours) {
  EXPECT_THAT(ResizeImage(Row({0, 80}), 1, 4, Resampling::kBilinear).pixels,
              ElementsAre(0, 20, 60, 80));
  // A column with these pixels must give the same result.
  ByteImage column = Row({0, 80});
  column.shape = {1, 2, 1};
  EXPECT_THAT(ResizeImage(column, 4, 1, Resampling::kBilinear).pixels,
              ElementsAre(0, 20, 60, 80));
}

TEST(ResizeImageTest, BicubicOvershootsAndIsClipped) {
  const ByteImage edge =
      ResizeImage(Row({0, 0, 0, 255, 255, 255}), 1, 12, Resampling::kBicubic);
  EXPECT_EQ(edge.pixels[4], 0);
  EXPECT_EQ(edge.pixels[7], 255);
  EXPECT_THAT(
      ResizeImage(Row({100, 100, 200, 200}), 1, 8, Resampling::kBicubic).pixels,
      ElementsAre(100, 98, 93, 120, 180, 207, 202, 200));
}

TEST(ResizeImageTest, AUniformImageKeepsItsValue) {
  for (const Resampling filter :
       {Resampling::kBilinear, Resampling::kBicubic}) {
    const ByteImage large =
        ResizeImage({.shape = {2, 1, 1}, .pixels = {7, 7}}, 3, 5, filter);
    EXPECT_EQ(large.shape, (ImageShape{2, 3, 5}));
    EXPECT_THAT(large.pixels, Each(7));
    EXPECT_THAT(ResizeImage(large, 1, 1, filter).pixels, ElementsAre(7, 7));
  }
}

TEST(ResizeAndCropTest, TakesTheMiddleOfEachChannel) {
  ByteImage image = {.shape = {2, 3, 4}};
  for (uint8_t i = 0; i < 24; ++i) image.pixels.push_back(i);
  const auto middle = [&](const ImageSize& kept) {
    return ResizeAndCrop(image, {3, 4}, kept, Resampling::kBicubic).pixels;
  };
  EXPECT_THAT(middle({1, 2}), ElementsAre(5, 6, 17, 18));
  EXPECT_THAT(middle({2, 1}), ElementsAre(1, 5, 13, 17));
  EXPECT_EQ(middle({3, 4}), image.pixels);
}

// The resized images are larger or smaller than the original, and even and odd
// numbers of rows and columns are cut off. The pixels must be equal to the
// pixels of the whole resized image.
TEST(ResizeAndCropTest, PixelsMatchTheWholeResizedImage) {
  ByteImage image = {.shape = {2, 13, 17}};
  for (int i = 0; i < 2 * 13 * 17; ++i) {
    image.pixels.push_back(static_cast<uint8_t>(i * i * 31 % 251));
  }
  for (const Resampling filter :
       {Resampling::kBilinear, Resampling::kBicubic}) {
    for (const ImageSize size :
         {ImageSize{5, 7}, {13, 30}, {40, 17}, {29, 8}}) {
      const ByteImage whole =
          ResizeImage(image, size.height, size.width, filter);
      for (const ImageSize kept : {ImageSize{1, 1}, {2, 5}, {5, 4}}) {
        const ByteImage part = ResizeAndCrop(image, size, kept, filter);
        ASSERT_EQ(part.shape, (ImageShape{2, kept.height, kept.width}));
        const int64_t top = (size.height - kept.height) / 2;
        const int64_t left = (size.width - kept.width) / 2;
        for (int64_t i = 0; i < part.shape.size(); ++i) {
          const int64_t row = i / kept.width;  // row index over both channels
          const int64_t y =
              row / kept.height * size.height + row % kept.height + top;
          EXPECT_EQ(part.pixels[i],
                    whole.pixels[y * size.width + i % kept.width + left])
              << size.height << " x " << size.width << ", pixel " << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace regard
