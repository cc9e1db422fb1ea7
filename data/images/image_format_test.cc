#include "data/images/image_format.h"

#include <cstdint>

#include "data/images/image_format.pb.h"
#include "data/images/image_set.h"
#include "data/images/resize.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "options/config_problems.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

ImageFormat FormatOf(int32_t height, int32_t width, bool crop) {
  ImageFormat format;
  format.set_height(height);
  format.set_width(width);
  format.set_grey(true);
  format.set_crop(crop);
  return format;
}

// Returns an image with three rows of six pixels. The pixels of each row are
// equal: 10, 20 and 30.
ByteImage Stripes() {
  ByteImage image = {.shape = {1, 3, 6}};
  for (uint8_t i = 0; i < 18; ++i) image.pixels.push_back(10 * (i / 6 + 1));
  return image;
}

TEST(FitImageTest, StretchesOrCrops) {
  const ByteImage image = Stripes();
  const ByteImage stretched = FitImage(image, FormatOf(3, 2, false));
  EXPECT_EQ(stretched.shape, (ImageShape{1, 3, 2}));
  EXPECT_THAT(stretched.pixels, ElementsAre(10, 10, 20, 20, 30, 30));
  EXPECT_EQ(FitImage(image, FormatOf(3, 2, true)).pixels, stretched.pixels);
  // The image already covers 1 x 6 pixels, so only the central row remains.
  EXPECT_THAT(FitImage(image, FormatOf(1, 6, true)).pixels,
              ElementsAre(20, 20, 20, 20, 20, 20));
  // The resized image has height 5 and width 10. Only its central five columns
  // remain.
  EXPECT_EQ(FitImage(image, FormatOf(5, 5, true)).shape, (ImageShape{1, 5, 5}));
}

TEST(FitImageTest, ACropKeepsTheMiddleColumns) {
  ByteImage image = {.shape = {1, 1, 5}, .pixels = {1, 2, 3, 4, 5}};
  EXPECT_THAT(FitImage(image, FormatOf(1, 2, true)).pixels, ElementsAre(2, 3));
  image.shape = {1, 5, 1};
  EXPECT_THAT(FitImage(image, FormatOf(2, 1, true)).pixels, ElementsAre(2, 3));
}

// The image is first resized to twice its size, as shorter_side requires. The
// result must be the central part of the resized image.
TEST(FitImageTest, ACropMayBeOfALargerImage) {
  const ByteImage image = {.shape = {1, 2, 4},
                           .pixels = {9, 1, 2, 9, 9, 3, 4, 9}};
  ImageFormat format = FormatOf(2, 2, true);
  format.set_shorter_side(4);
  const ByteImage large = ResizeImage(image, 4, 8, Resampling::kBicubic);
  EXPECT_THAT(FitImage(image, format).pixels,
              ElementsAre(large.pixels[11], large.pixels[12], large.pixels[19],
                          large.pixels[20]));
  format.set_shorter_side(2);
  EXPECT_THAT(FitImage(image, format).pixels, ElementsAre(1, 2, 3, 4));
}

// The whole resized image would have 8192 x 536,862,720 pixels in three
// channels, so only the central part may be computed.
TEST(FitImageTest, ComputesOnlyTheMiddleOfALongImage) {
  ImageFormat format = FormatOf(224, 224, true);
  format.set_grey(false);
  for (const int32_t shorter_side : {0, 8192}) {
    format.set_shorter_side(shorter_side);
    // Returns the result for `length` pixels that are all equal, except for two
    // in the middle of each channel.
    const auto fitted = [&](int64_t length, bool wide) {
      ByteImage image = {.shape = {3, wide ? 1 : length, wide ? length : 1}};
      image.pixels.assign(static_cast<size_t>(3 * length), 9);
      for (const int64_t channel : {0, 1, 2}) {
        image.pixels[channel * length + length / 2] = 200;
        image.pixels[channel * length + length / 2 + 1] = 100 + channel;
      }
      return FitImage(image, format);
    };
    for (const bool wide : {true, false}) {
      const ByteImage image = fitted(65535, wide);
      EXPECT_EQ(image.shape, (ImageShape{3, 224, 224}));
      EXPECT_EQ(image.pixels, fitted(9, wide).pixels);
    }
  }
}

TEST(ShapeOfTest, IsGreyOrOfThreeChannels) {
  ImageFormat format;
  EXPECT_EQ(ShapeOf(format), (ImageShape{3, 224, 224}));
  format.set_grey(true);
  EXPECT_EQ(ShapeOf(format).channels, 1);
}

TEST(ValidateImageFormatTest, DeviationsArePositive) {
  ImageFormat format;
  ConfigProblems none;
  ValidateImageFormat(format, none);
  EXPECT_THAT(none.problems(), SizeIs(0));
  format.set_height(0);
  format.mutable_mean()->set_blue(2);
  format.mutable_deviation()->set_green(0);
  ConfigProblems problems;
  ValidateImageFormat(format, problems);
  ASSERT_THAT(problems.problems(), SizeIs(3));
  EXPECT_EQ(problems.problems()[0].path, "height");
  EXPECT_EQ(problems.problems()[1].path, "mean.blue");
  EXPECT_EQ(problems.problems()[2].path, "deviation.green");
}

TEST(ValidateImageFormatTest, TheShorterSideMustCoverTheCrop) {
  ImageFormat format = FormatOf(2, 3, true);
  format.set_shorter_side(3);
  ConfigProblems none;
  ValidateImageFormat(format, none);
  EXPECT_THAT(none.problems(), SizeIs(0));
  for (const bool crop : {true, false}) {
    format.set_crop(crop);
    format.set_shorter_side(crop ? 2 : 3);
    ConfigProblems problems;
    ValidateImageFormat(format, problems);
    if (crop) {
      ASSERT_THAT(problems.problems(), SizeIs(1));
      EXPECT_EQ(problems.problems()[0].path, "shorter_side");
    } else {
      EXPECT_TRUE(problems.ok());
      EXPECT_THAT(problems.notes(), SizeIs(1));
    }
  }
}

}  // namespace
}  // namespace regard
