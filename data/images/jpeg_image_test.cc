#include "data/images/jpeg_image.h"

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "data/images/interleaved_image.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::Each;
using ::testing::SizeIs;

std::string Segment(uint8_t marker, const std::string& data) {
  const size_t length = data.size() + 2;
  return std::string({'\xff', static_cast<char>(marker),
                      static_cast<char>(length >> 8),
                      static_cast<char>(length)}) +
         data;
}

// Returns a scan of blocks whose coefficients are all 0. Each block has two
// bits: one for its first coefficient, and one for the end of its other
// coefficients.
std::string Scan(int components, int blocks) {
  std::string header(1, static_cast<char>(components));
  for (int i = 1; i <= components; ++i) {
    header += {static_cast<char>(i), 0};
  }
  std::string data(2 * blocks / 8, '\0');
  if (blocks % 4 != 0) data += static_cast<char>(0xff >> (2 * blocks % 8));
  return Segment(0xda, header + std::string("\0\x3f\0", 3)) + data;
}

// Returns a JPEG file with one grey pixel. The segments `before` come first.
std::string Jpeg(const std::string& before, const std::string& sampling,
                 int blocks, int scans = 1) {
  std::string frame("\x8\0\x1\0\x1", 5);
  frame += static_cast<char>(sampling.size());
  for (size_t i = 0; i < sampling.size(); ++i) {
    frame += {static_cast<char>(i + 1), sampling[i], 0};
  }
  // Huffman tables with a single code of one bit, 0.
  const std::string table = "\1" + std::string(16, '\0');
  std::string bytes = absl::StrCat(
      "\xff\xd8", before, Segment(0xdb, '\0' + std::string(64, '\1')),
      Segment(0xc0, frame), Segment(0xc4, '\0' + table),
      Segment(0xc4, '\x10' + table));
  for (; scans > 0; --scans) {
    bytes += Scan(static_cast<int>(sampling.size()), blocks);
  }
  return bytes + "\xff\xd9";
}

// Returns an Exif segment whose only entry is the orientation.
std::string Exif(char orientation) {
  return Segment(
      0xe1, std::string("Exif\0\0II*\0\x8\0\0\0\x1\0\x12\1\3\0\1\0\0\0", 24) +
                orientation + std::string(7, '\0'));
}

std::string ErrorOf(const std::string& bytes) {
  return std::string(DecodeJpeg(bytes).status().message());
}

TEST(DecodeJpegTest, ReadsSubsamplingThatHasNoName) {
  // The samplings are 4:4:4, 4:2:0, and two without a name in TurboJPEG: 4:1:0
  // and 2 x 4.
  for (const auto& [sampling, blocks] :
       {std::pair("\x11\x11\x11", 3), std::pair("\x22\x11\x11", 6),
        std::pair("\x42\x11\x11", 10), std::pair("\x24\x11\x11", 10)}) {
    const absl::StatusOr<InterleavedImage> rows =
        DecodeJpeg(Jpeg("", sampling, blocks));
    ASSERT_TRUE(rows.ok()) << rows.status();
    EXPECT_EQ(rows->channels, 3);
    EXPECT_THAT(rows->bytes, SizeIs(3));
    EXPECT_THAT(rows->bytes, Each(128));
  }
}

TEST(DecodeJpegTest, TakesTheOrientationOfTheFirstExifSegment) {
  const auto orientation = [](const std::string& before) {
    return DecodeJpeg(Jpeg(before, "\x11", 1))->orientation;
  };
  EXPECT_EQ(orientation(""), 1);
  EXPECT_EQ(orientation(Exif(6)), 6);
  const std::string comment = Segment(0xfe, absl::StrCat("x", Exif(3)));
  const std::string other = Segment(0xe1, "http://ns.adobe.com/xap/1.0/");
  EXPECT_EQ(orientation(comment), 1);
  EXPECT_EQ(orientation(absl::StrCat(comment, other, "\xff", Exif(8), Exif(5))),
            8);
}

TEST(DecodeJpegTest, LimitsScans) {
  EXPECT_EQ(ErrorOf(Jpeg("", "\x11", 1, 201)),
            "has more than 200 scans, the limit; save it as a baseline JPEG "
            "file");
  // A second file after the image must be ignored.
  EXPECT_TRUE(DecodeJpeg(Jpeg("", "\x11", 1) + Jpeg("", "\x11", 1, 201)).ok());
}

TEST(DecodeJpegTest, AWarningIsAnError) {
  const std::string whole = Jpeg("", "\x11", 1);
  EXPECT_TRUE(DecodeJpeg(whole).ok());
  EXPECT_EQ(ErrorOf(whole.substr(0, whole.size() - 2)),
            "is a damaged JPEG file: Premature end of JPEG file; replace it "
            "with an intact copy");
}

}  // namespace
}  // namespace regard
