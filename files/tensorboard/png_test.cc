#include "files/tensorboard/png.h"

#include <png.h>

#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace regard::tensorboard {
namespace {

// Returns the pixels of a file, which must have this size.
std::vector<uint8_t> Decode(const std::string& text, int height, int width) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  EXPECT_NE(png_image_begin_read_from_memory(&image, text.data(), text.size()),
            0)
      << image.message;
  EXPECT_EQ(image.height, height);
  EXPECT_EQ(image.width, width);
  image.format = PNG_FORMAT_RGB;
  std::vector<uint8_t> rgb(PNG_IMAGE_SIZE(image));
  EXPECT_NE(png_image_finish_read(&image, nullptr, rgb.data(), 0, nullptr), 0)
      << image.message;
  return rgb;
}

TEST(PngTest, KeepsEachPixel) {
  for (const int height : {1, 2, 7}) {
    for (const int width : {1, 3, 200}) {
      std::vector<uint8_t> rgb;
      for (int i = 0; i < 3 * height * width; ++i) {
        rgb.push_back(static_cast<uint8_t>(i * i + 31 * i));
      }
      const std::string png = EncodePng(height, width, rgb);
      EXPECT_EQ(png.substr(0, 8), "\x89PNG\r\n\x1a\n");
      EXPECT_EQ(Decode(png, height, width), rgb);
    }
  }
}

// The image has cells of 16 x 16 pixels, like a heat map. The file must be much
// smaller than the pixels.
TEST(PngTest, AMapIsCompressed) {
  std::vector<uint8_t> rgb;
  for (int y = 0; y < 256; ++y) {
    for (int x = 0; x < 256; ++x) {
      const auto grey = static_cast<uint8_t>(37 * (y / 16) + 11 * (x / 16));
      rgb.insert(rgb.end(), 3, grey);
    }
  }
  const std::string png = EncodePng(256, 256, rgb);
  EXPECT_LT(png.size(), rgb.size() / 40);
  EXPECT_EQ(Decode(png, 256, 256), rgb);
}

TEST(PngDeathTest, TheSizeMustMatchThePixels) {
  const std::vector<uint8_t> red = {255, 0, 0};
  EXPECT_DEATH(EncodePng(1, 2, red), "3 vs. 6");
}

}  // namespace
}  // namespace regard::tensorboard
