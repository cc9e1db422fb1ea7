#include "data/images/png_image.h"

#include <png.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "files/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IsOk;

std::string Path(absl::string_view name) {
  return JoinPath(::testing::TempDir(), name);
}

// Of one row.
std::string WritePng(absl::string_view name, uint32_t format,
                     const std::vector<uint8_t>& pixels) {
  png_image png = {};
  png.version = PNG_IMAGE_VERSION;
  png.format = format;
  png.height = 1;
  png.width =
      static_cast<png_uint_32>(pixels.size() / PNG_IMAGE_PIXEL_SIZE(format));
  const std::string path = Path(name);
  EXPECT_NE(
      png_image_write_to_file(&png, path.c_str(), 0, pixels.data(), 0, nullptr),
      0)
      << png.message;
  return path;
}

std::string ErrorOf(const std::string& path, const ImageShape& shape) {
  return std::string(ReadPng(path, shape).status().message());
}

TEST(ReadPng, ReadsGreyAndPlanesOfColours) {
  const std::string grey = WritePng("grey.png", PNG_FORMAT_GRAY, {0, 7, 255});
  EXPECT_THAT(ReadPng(grey, {1, 1, 3}).value(), ElementsAre(0, 7, 255));
  EXPECT_THAT(ReadPng(grey, {3, 1, 3}).value(),
              ElementsAre(0, 7, 255, 0, 7, 255, 0, 7, 255));
  const std::string colours =
      WritePng("colours.png", PNG_FORMAT_RGB, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(ReadPng(colours, {3, 1, 2}).value(),
              ElementsAre(1, 4, 2, 5, 3, 6));
}

TEST(ReadPng, ShowsTransparentPixelsOnBlack) {
  const std::string path =
      WritePng("clear.png", PNG_FORMAT_RGBA, {9, 9, 9, 255, 9, 9, 9, 0});
  EXPECT_THAT(ReadPng(path, {1, 1, 2}).value(), ElementsAre(9, 0));
}

TEST(ReadPng, SaysWhatIsWrong) {
  const std::string path = WritePng("row.png", PNG_FORMAT_GRAY, {0, 7, 255});
  EXPECT_THAT(ErrorOf(path, {1, 28, 28}),
              HasSubstr("has 1 x 3 pixels (height x width); the model reads 28 "
                        "x 28"));
  EXPECT_THAT(ErrorOf("they are watching .", {1, 1, 3}),
              HasSubstr("'they are watching .': want a PNG file: "));
  ASSERT_THAT(WriteFileAtomically(Path("text"), "no image"), IsOk());
  EXPECT_THAT(ErrorOf(Path("text"), {1, 1, 3}), HasSubstr("this is none"));
  const std::string whole = ReadFile(path).value();
  ASSERT_THAT(WriteFileAtomically(Path("cut.png"), whole.substr(0, 50)),
              IsOk());
  EXPECT_THAT(ErrorOf(Path("cut.png"), {1, 1, 3}), HasSubstr("cannot be read"));
}

}  // namespace
}  // namespace regard
