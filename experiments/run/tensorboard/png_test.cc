#include "experiments/run/tensorboard/png.h"

#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace regard::tensorboard {
namespace {

// One red pixel; checksums by an independent zlib.
TEST(PngTest, OnePixelIsTheDocumentedBytes) {
  const std::vector<uint8_t> red = {255, 0, 0};
  const std::string expected =
      std::string("\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\1\0\0\0\1\x08\2\0\0\0",
                  29) +
      std::string("\x90\x77\x53\xde", 4) +
      std::string("\0\0\0\x0fIDAT\x78\1\1\4\0\xfb\xff\0\xff\0\0", 19) +
      std::string("\x03\x01\x01\x00\x8d\x1d\xe5\x82", 8) +
      std::string("\0\0\0\0IEND\xae\x42\x60\x82", 12);
  EXPECT_EQ(EncodePng(1, 1, red), expected);
}

// A stream of more than one stored block (65535 bytes each): 200 x 200 pixels
// with one filter byte a row are 120200 bytes, two blocks.
TEST(PngTest, LargeImagesSpanBlocks) {
  const std::vector<uint8_t> grey(200 * 200 * 3, 7);
  const size_t stream = 2 + 2 * 5 + 120200 + 4;
  EXPECT_EQ(EncodePng(200, 200, grey).size(), 8 + 25 + 12 + stream + 12);
}

TEST(PngDeathTest, TheSizeMustBeThatOfThePixels) {
  const std::vector<uint8_t> red = {255, 0, 0};
  EXPECT_DEATH(EncodePng(1, 2, red), "3 vs. 6");
}

}  // namespace
}  // namespace regard::tensorboard
