#include "vision/augmentation.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include "autodiff/tape.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "options/config_problems.h"
#include "vision/augmentation.pb.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

// Images have 2 x 3 grey pixels. Pixels 0 and 255 become -1 and 1.
constexpr ImageShape kShape = {1, 2, 3};

std::vector<double> Transformed(const std::vector<uint8_t>& pixels,
                                const ImageTransform& transform,
                                const ImageShape& shape = kShape) {
  std::vector<double> out(pixels.size());
  TransformImage(pixels.data(), shape, {}, transform, out.data());
  return out;
}

// Returns `pixels` as the network reads them.
std::vector<double> Values(const std::vector<double>& pixels) {
  std::vector<double> values;
  for (const double pixel : pixels) values.push_back(pixel / 255 * 2 - 1);
  return values;
}

testing::Matcher<std::vector<double>> Are(const std::vector<double>& pixels) {
  std::vector<testing::Matcher<double>> each;
  for (const double value : Values(pixels)) {
    each.push_back(testing::DoubleNear(value, 1e-12));
  }
  return ElementsAreArray(each);
}

const std::vector<uint8_t> kPixels = {10, 20, 30, 40, 50, 60};

TEST(AugmentationTest, TheIdentityNormalizes) {
  EXPECT_THAT(Transformed({0, 255, 0, 255, 0, 51}, {}),
              ElementsAre(-1, 1, -1, 1, -1, testing::DoubleNear(-.6, 1e-12)));
}

TEST(AugmentationTest, FlipsAndShifts) {
  EXPECT_THAT(Transformed(kPixels, {.flip = true}),
              Are({30, 20, 10, 60, 50, 40}));
  EXPECT_THAT(Transformed(kPixels, {.top = 1}), Are({40, 50, 60, 0, 0, 0}));
  EXPECT_THAT(Transformed(kPixels, {.left = -1}), Are({0, 10, 20, 0, 40, 50}));
  EXPECT_THAT(Transformed(kPixels, {.top = 5, .left = 9}),
              Are({0, 0, 0, 0, 0, 0}));
}

TEST(AugmentationTest, CropsInterpolate) {
  // The transform enlarges the right half of four pixels. It reads the row at
  // 1.75, 2.25, 2.75 and 3.25.
  const ImageShape row = {1, 1, 4};
  EXPECT_THAT(Transformed({0, 100, 200, 40},
                          {.top = 0.25, .left = 2, .scale = 0.5}, row),
              Are({175, 160, 80, 30}));
}

TEST(AugmentationTest, EachChannelIsAnImage) {
  const ImageShape channels = {2, 1, 3};
  EXPECT_THAT(Transformed(kPixels, {.left = 1}, channels),
              Are({20, 30, 0, 50, 60, 0}));
}

TEST(AugmentationTest, IsAFunctionOfSeedEpochAndExample) {
  ImageAugmentation config;
  config.set_shift(3);
  config.set_flip(true);
  config.set_crop(0.5);
  const ImageShape shape = {1, 28, 28};
  const auto top = [&](uint64_t seed, int64_t epoch, int64_t example) {
    return DrawTransform(config, shape, seed, epoch, example).top;
  };
  EXPECT_EQ(top(1, 2, 3), top(1, 2, 3));
  EXPECT_NE(top(1, 2, 3), top(2, 2, 3));
  EXPECT_NE(top(1, 2, 3), top(1, 3, 3));
  EXPECT_NE(top(1, 2, 3), top(1, 2, 4));
}

TEST(AugmentationTest, DrawsFromTheConfiguredRanges) {
  ImageAugmentation config;
  const ImageShape shape = {1, 10, 20};
  const ImageTransform none = DrawTransform(config, shape, 1, 0, 0);
  EXPECT_EQ(none.top, 0);
  EXPECT_EQ(none.left, 0);
  EXPECT_EQ(none.scale, 1);
  EXPECT_FALSE(none.flip);
  config.set_shift(2);
  config.set_flip(true);
  std::set<double> shifts;
  int flips = 0;
  for (int64_t example = 0; example < 1000; ++example) {
    const ImageTransform drawn = DrawTransform(config, shape, 1, 0, example);
    shifts.insert(drawn.top);
    shifts.insert(drawn.left);
    flips += drawn.flip ? 1 : 0;
  }
  EXPECT_THAT(shifts, ElementsAre(-2, -1, 0, 1, 2));
  EXPECT_NEAR(flips, 500, 60);
  config.Clear();
  config.set_crop(0.5);
  for (int64_t example = 0; example < 1000; ++example) {
    const ImageTransform drawn = DrawTransform(config, shape, 1, 0, example);
    EXPECT_GE(drawn.scale, 0.5);
    EXPECT_LE(drawn.scale, 1);
    EXPECT_GE(drawn.top, 0);
    EXPECT_LE(drawn.top + 10 * drawn.scale, 10);
    EXPECT_GE(drawn.left, 0);
    EXPECT_LE(drawn.left + 20 * drawn.scale, 20);
  }
}

// An example must be varied in the same way in any batch. Evaluations must not
// vary images.
TEST(AugmentationTest, ImagesOfABatch) {
  ImageSet set;
  set.shape = kShape;
  set.pixels = {10, 20, 30, 40, 50, 60, 11, 21, 31, 41, 51, 61};
  set.labels = {0, 1};
  ImageAugmentation config;
  config.set_shift(2);
  Tape<double> tape;
  int64_t epoch = 3;
  const auto values = [&](std::vector<int64_t> examples) {
    const Var<double> images = MakeImages(tape, set, examples, config, epoch);
    EXPECT_EQ(images.shape(),
              Shape({static_cast<int64_t>(examples.size()), 1, 2, 3}));
    EXPECT_FALSE(images.needs_grad());
    return std::vector<double>(images.span().begin(), images.span().end());
  };
  EXPECT_THAT(values({1}), Are({11, 21, 31, 41, 51, 61}));
  EXPECT_THAT(values({}), ElementsAre());
  tape.set_training(true);
  tape.set_random({.seed = 5, .step = 9, .examples = {}});
  const std::vector<double> both = values({0, 1});
  const std::vector<double> second = values({1});
  EXPECT_TRUE(std::equal(second.begin(), second.end(), both.begin() + 6));
  // The variation must not depend on the optimizer step.
  tape.set_random({.seed = 5, .step = 10, .examples = {}});
  EXPECT_EQ(values({1}), second);
  std::set<std::vector<double>> variants;
  for (epoch = 0; epoch < 20; ++epoch) variants.insert(values({0}));
  EXPECT_GT(variants.size(), 5);
}

TEST(AugmentationTest, RangesAreChecked) {
  ImageAugmentation config;
  ConfigProblems good;
  good.CheckRanges(config);
  EXPECT_TRUE(good.ok());
  config.set_shift(-1);
  config.set_crop(0);
  ConfigProblems problems;
  problems.CheckRanges(config);
  ASSERT_EQ(problems.problems().size(), 2);
  EXPECT_EQ(problems.problems()[0].path, "shift");
  EXPECT_EQ(problems.problems()[1].path, "crop");
}

}  // namespace
}  // namespace regard
