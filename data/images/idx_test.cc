#include "data/images/idx.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "files/testing/gzip_writer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string Header(const std::vector<uint32_t>& extents) {
  std::string bytes = {0, 0, 8, static_cast<char>(extents.size())};
  for (const uint32_t extent : extents) {
    for (const int shift : {24, 16, 8, 0}) {
      bytes.push_back(static_cast<char>(extent >> shift));
    }
  }
  return bytes;
}

// Returns bytes that do not compress well.
std::string Noise(size_t size) {
  std::string bytes;
  uint32_t state = 1;
  for (size_t i = 0; i < size; ++i) {
    state = state * 1664525 + 1013904223;
    bytes.push_back(static_cast<char>(state >> 24));
  }
  return bytes;
}

std::string Images() { return Header({2, 1, 3}) + "abcdef"; }
std::string Labels() { return Header({2}) + std::string("\1\0", 2); }

// Returns the error, or "" if there is none.
std::string ParseError(const std::string& images, const std::string& labels) {
  const absl::Status status =
      ParseLabelledImages(images, "images", labels, "labels", /*classes=*/2)
          .status();
  EXPECT_TRUE(status.ok() || absl::IsInvalidArgument(status)) << status;
  return std::string(status.message());
}

TEST(IdxTest, ReadsImagesAndLabels) {
  for (const bool packed : {false, true}) {
    const auto set = ParseLabelledImages(
        packed ? Gzip(Images()) : Images(), "images",
        packed ? Gzip(Labels()) : Labels(), "labels", /*classes=*/2);
    ASSERT_TRUE(set.ok()) << set.status();
    EXPECT_EQ(set->shape, (ImageShape{1, 1, 3}));
    EXPECT_THAT(set->pixels, ElementsAre('a', 'b', 'c', 'd', 'e', 'f'));
    EXPECT_THAT(set->labels, ElementsAre(1, 0));
  }
}

TEST(IdxTest, EveryTruncationIsAnError) {
  const std::string plain = Header({10, 10, 10}) + Noise(1000);
  const std::string labels = Header({10}) + std::string(10, '\0');
  ASSERT_EQ(ParseError(plain, labels), "");
  for (const std::string& whole : {plain, Gzip(plain)}) {
    for (size_t size = 0; size < whole.size(); ++size) {
      ASSERT_THAT(ParseError(whole.substr(0, size), labels),
                  StartsWith("images: error: byte "))
          << size;
    }
  }
  const std::string packed = Gzip(labels);
  for (size_t size = 0; size < packed.size(); ++size) {
    EXPECT_THAT(ParseError(plain, packed.substr(0, size)),
                StartsWith("labels: error: byte "));
  }
}

// A reader that trusts the header would allocate about 2^96 bytes.
TEST(IdxTest, AHeaderCannotForceAnAllocation) {
  const uint32_t most = 0xffffffff;
  EXPECT_EQ(ParseError(Header({most, most, most}) + "abc", Labels()),
            "images: error: byte 4: the file must have 4611686018427387904 or "
            "more elements, as its header says, but has 3");
  // Two extents are almost 2^32, but their product with 0 is 0.
  EXPECT_THAT(ParseError(Header({most, most, 0}), Labels()),
              HasSubstr("the file must have at least one image"));
}

TEST(IdxTest, SaysWhatIsWrongAndWhere) {
  std::string magic = Images();
  magic[2] = 0x0d;
  EXPECT_EQ(ParseError(magic, Labels()),
            "images: error: byte 0: the magic number is 0x00000d03; an IDX "
            "file of bytes with 3 axes has 0x00000803");
  // The images and the labels are swapped.
  EXPECT_THAT(
      ParseError(Labels(), Images()),
      HasSubstr("the file ends here, but its header must have 16 bytes"));
  EXPECT_THAT(
      ParseError(Images() + "g", Labels()),
      HasSubstr(
          "the file must have 6 elements, as its header says, but has 7"));
  EXPECT_EQ(ParseError(Images(), Header({1}) + std::string(1, '\0')),
            "labels: error: byte 4: must have 2 labels, one for each image of "
            "images, but has 1");
  EXPECT_EQ(ParseError(Images(), Header({2}) + std::string("\0\2", 2)),
            "labels: error: byte 9: label 2 must be less than 2, the number of "
            "classes");
  std::string broken = Gzip(Header({10, 10, 10}) + Noise(1000));
  broken[500] ^= 0x55;
  EXPECT_THAT(ParseError(broken, Labels()), StartsWith("images: error: byte "));
}

}  // namespace
}  // namespace regard
