#include "data/images/image_file.h"

#include <png.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "data/images/image_set.h"
#include "files/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IsOk;
using ::testing::StartsWith;

std::string Path(absl::string_view name) {
  return JoinPath(::testing::TempDir(), name);
}

// Writes an image of one row.
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

std::string ErrorOf(const std::string& path) {
  return std::string(ReadImage(path, 1).status().message());
}

TEST(ReadImageTest, ReadsGreyAndPlanesOfColors) {
  const std::string grey = WritePng("grey.png", PNG_FORMAT_GRAY, {0, 7, 255});
  EXPECT_THAT(ReadImage(grey, 1)->pixels, ElementsAre(0, 7, 255));
  EXPECT_THAT(ReadImage(grey, 3)->pixels,
              ElementsAre(0, 7, 255, 0, 7, 255, 0, 7, 255));
  const std::string colors =
      WritePng("colors.png", PNG_FORMAT_RGB, {1, 2, 3, 255, 0, 0});
  EXPECT_THAT(ReadImage(colors, 3)->pixels, ElementsAre(1, 255, 2, 0, 3, 0));
  EXPECT_EQ(ReadImage(colors, 3)->shape, (ImageShape{3, 1, 2}));
  EXPECT_THAT(ReadImage(colors, 1)->pixels, ElementsAre(2, 76));
}

TEST(ReadImageTest, DropsAlpha) {
  const std::string path =
      WritePng("clear.png", PNG_FORMAT_RGBA, {9, 9, 9, 255, 8, 8, 8, 0});
  EXPECT_THAT(ReadImage(path, 1)->pixels, ElementsAre(9, 8));
}

TEST(ReadImageTest, SaysWhatIsWrong) {
  EXPECT_THAT(
      ErrorOf("they are watching ."),
      HasSubstr("'they are watching .': cannot read a PNG or JPEG file: "));
  ASSERT_THAT(WriteFileAtomically(Path("text"), "no image"), IsOk());
  EXPECT_THAT(ErrorOf(Path("text")), HasSubstr("must be a PNG or JPEG file"));
  const std::string path = WritePng("row.png", PNG_FORMAT_GRAY, {0, 7, 255});
  std::string whole = ReadFile(path).value();
  ASSERT_THAT(WriteFileAtomically(Path("cut"), whole.substr(0, 50)), IsOk());
  EXPECT_EQ(ErrorOf(Path("cut")),
            "'" + Path("cut") +
                "': is a damaged PNG file: the file is cut short; replace it "
                "with an intact copy");
}

// Inserts a chunk that claims to be longer than the file. libpng would allocate
// the claimed length. The first chunk ends at byte 33.
TEST(ReadImageTest, AChunkCannotForceAnAllocation) {
  const std::string path = WritePng("row.png", PNG_FORMAT_GRAY, {0, 7, 255});
  std::string png = ReadFile(path).value();
  png.insert(33, std::string("\x2a\0\0\x1a\x65XIfII*\0", 12));
  ASSERT_THAT(WriteFileAtomically(Path("claims"), png), IsOk());
  EXPECT_THAT(ErrorOf(Path("claims")),
              HasSubstr("': is a damaged PNG file: the file ends within its "
                        "chunk 'eXIf' of 704643098 bytes"));
}

TEST(ReadImageLikeTest, RequiresTheSizeOfTheSet) {
  const std::string path = WritePng("row.png", PNG_FORMAT_GRAY, {0, 7, 255});
  const absl::StatusOr<ImageSet> image =
      ReadImageLike(path, {.shape = {3, 1, 3}});
  EXPECT_EQ(image->size(), 1);
  EXPECT_EQ(image->pixels.size(), 9);
  EXPECT_THAT(
      ReadImageLike(path, {.shape = {1, 28, 28}}).status().message(),
      HasSubstr(
          "has 1 x 3 pixels (height x width); the model requires 28 x 28"));
}

// Returns the start of a JPEG file, with the frame header of an image of 8 bits
// per sample.
std::string JpegOf(uint8_t components, uint8_t side) {
  std::string bytes = {'\xff', '\xd8', '\xff',
                       '\xc0', 0,      static_cast<char>(8 + 3 * components),
                       8};
  for (int i = 0; i < 2; ++i) bytes += {static_cast<char>(side), 1};
  bytes += static_cast<char>(components);
  for (uint8_t i = 1; i <= components; ++i) {
    bytes += {static_cast<char>(i), 0x11, 0};
  }
  // A scan of all components follows the frame header.
  bytes += {'\xff', '\xda', 0, static_cast<char>(6 + 2 * components),
            static_cast<char>(components)};
  for (uint8_t i = 1; i <= components; ++i) bytes += {static_cast<char>(i), 0};
  return bytes + std::string("\0\x3f\0", 3);
}

TEST(DecodeImageTest, RefusesCmykAndTooManyPixels) {
  const auto error = [](const std::string& bytes) {
    return std::string(DecodeImage(bytes, 3).status().message());
  };
  EXPECT_EQ(error(JpegOf(4, 0)), "is in CMYK; convert it to grey or RGB");
  EXPECT_EQ(error(JpegOf(3, 200)),
            "has 51201 x 51201 pixels; at most 67108864 pixels are allowed");
  EXPECT_THAT(error(JpegOf(3, 0)), StartsWith("is a damaged JPEG file: "));
}

}  // namespace
}  // namespace regard
