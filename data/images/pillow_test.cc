// Compares pixels of files and of resized images with Pillow.
// tools/parity/write_image_fixtures.py writes the fixture and describes its
// format. The environment variable IMAGES names another fixture.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "data/images/image_file.h"
#include "data/images/image_set.h"
#include "data/images/resize.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

int64_t Number(const std::string& text) {
  int64_t number = 0;
  EXPECT_TRUE(absl::SimpleAtoi(text, &number)) << text;
  return number;
}

std::string Bytes(const std::string& base64) {
  std::string bytes;
  EXPECT_TRUE(absl::Base64Unescape(base64, &bytes));
  return bytes;
}

// Returns the lines of the fixture, split into fields.
std::vector<std::vector<std::string>> Lines() {
  const char* given = std::getenv("IMAGES");
  std::ifstream fixture(given == nullptr ? "data/images/testdata/pillow.txt"
                                         : given);
  std::vector<std::vector<std::string>> lines;
  for (std::string line; std::getline(fixture, line);) {
    lines.push_back(absl::StrSplit(line, ' '));
  }
  EXPECT_FALSE(lines.empty());
  return lines;
}

TEST(PillowTest, PixelsAreEqual) {
  int files = -1;  // does not count the first file, which cannot be read
  int greatest = 0;
  std::string name;
  std::string file;
  for (const std::vector<std::string>& fields : Lines()) {
    if (fields[0] == "file") {
      name = fields.at(1);
      file = Bytes(fields.at(2));
      ++files;
      continue;
    }
    const int64_t channels = Number(fields.at(1));
    const int64_t height = Number(fields.at(3));
    const int64_t width = Number(fields.at(4));
    const std::string wanted = Bytes(fields.at(5));
    absl::StatusOr<ByteImage> image = DecodeImage(file, channels);
    ASSERT_TRUE(image.ok()) << name << ": " << image.status();
    if (fields[2] != "none") {
      image = ResizeImage(*image, height, width,
                          fields[2] == "bicubic" ? Resampling::kBicubic
                                                 : Resampling::kBilinear);
    }
    ASSERT_EQ(image->shape, (ImageShape{channels, height, width})) << name;
    int difference = 0;
    for (int64_t i = 0; i < image->shape.size(); ++i) {
      const int64_t plane = i % channels * height * width;
      difference =
          std::max(difference, std::abs(image->pixels[plane + i / channels] -
                                        static_cast<uint8_t>(wanted[i])));
    }
    EXPECT_LE(difference, 1) << name << ", " << fields[2];
    greatest = std::max(greatest, difference);
  }
  EXPECT_GE(files, 46);
  std::printf("%d files, largest difference %d\n", files, greatest);
}

// A truncated file must be an error. So must a file with a changed byte, except
// that a JPEG file, which has no checksums, may give another image.
TEST(PillowTest, DamagedFilesAreErrors) {
  constexpr size_t kEach = 22;
  int images = 0;
  int errors = 0;
  for (const std::vector<std::string>& fields : Lines()) {
    if (fields[0] != "file") continue;
    const std::string whole = Bytes(fields.at(2));
    for (size_t i = 0; i < kEach; ++i) {
      const size_t at = whole.size() * i / kEach;
      const absl::Status cut = DecodeImage(whole.substr(0, at), 3).status();
      EXPECT_TRUE(absl::IsInvalidArgument(cut)) << fields[1] << ", " << at;
      std::string flipped = whole;
      flipped[at] ^= static_cast<char>(1 << (i % 8));
      const absl::Status status = DecodeImage(flipped, 3).status();
      EXPECT_TRUE(absl::IsInvalidArgument(status) ||
                  (status.ok() && absl::StartsWith(fields[1], "jpeg")))
          << fields[1] << ", " << at << ": " << status;
      errors += status.ok() ? 1 : 2;
      images += status.ok() ? 1 : 0;
    }
  }
  std::printf("%d damaged files are errors, %d are other images\n", errors,
              images);
}

}  // namespace
}  // namespace regard
