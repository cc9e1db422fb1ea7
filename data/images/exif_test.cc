#include "data/images/exif.h"

#include <string>

#include "gtest/gtest.h"

namespace regard {
namespace {

std::string Short(int number) {
  return {static_cast<char>(number >> 8), static_cast<char>(number)};
}

// Returns a big-endian structure with two entries. The second is the
// orientation.
std::string Tiff(int orientation, int type = 3) {
  const std::string zeros(2, '\0');
  return "MM" + Short(42) + zeros + Short(8) + Short(2) + Short(0x0101) +
         Short(3) + zeros + Short(1) + Short(9) + zeros + Short(0x0112) +
         Short(type) + zeros + Short(1) + Short(orientation) + zeros;
}

TEST(ExifOrientationTest, ReadsItsEntry) {
  for (int i = 1; i <= 8; ++i) EXPECT_EQ(ExifOrientation(Tiff(i)), i);
  EXPECT_EQ(ExifOrientation(std::string(
                "II*\0\x08\0\0\0\1\0\x12\1\3\0\1\0\0\0\6\0\0\0", 22)),
            6);
}

TEST(ExifOrientationTest, IsOneForInvalidData) {
  EXPECT_EQ(ExifOrientation(""), 1);
  EXPECT_EQ(ExifOrientation("MM"), 1);
  EXPECT_EQ(ExifOrientation(Tiff(0)), 1);
  EXPECT_EQ(ExifOrientation(Tiff(9)), 1);
  EXPECT_EQ(ExifOrientation(Tiff(6, /*type=*/4)), 1);
  EXPECT_EQ(ExifOrientation("XX" + Tiff(6).substr(2)), 1);
  // The position of the directory is past the end of the data.
  EXPECT_EQ(ExifOrientation("MM" + Short(42) + "\xff\xff\xff\xff"), 1);
  // The entry is truncated before its number.
  EXPECT_EQ(ExifOrientation(Tiff(6).substr(0, 30)), 1);
}

}  // namespace
}  // namespace regard
