#include "files/number_text.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "absl/strings/numbers.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

TEST(NumberTextTest, IsTheShortestText) {
  EXPECT_EQ(NumberText(0.1F), "0.1");
  EXPECT_EQ(NumberText(static_cast<double>(0.1F)), "0.10000000149011612");
  EXPECT_EQ(NumberText(1234568.125F), "1234568.1");
  EXPECT_EQ(NumberText(1234568.125), "1234568.125");
  EXPECT_EQ(NumberText(-0.0), "-0");
  EXPECT_EQ(NumberText(std::numeric_limits<double>::infinity()), "inf");
}

TEST(NumberTextTest, ReadsBackAsTheSameNumber) {
  uint32_t bits = 1;
  for (int i = 0; i < 100000; ++i) {
    bits = bits * 1664525 + 1013904223;
    float number;
    std::memcpy(&number, &bits, sizeof(number));
    if (!std::isfinite(number)) continue;
    float read;
    ASSERT_TRUE(absl::SimpleAtof(NumberText(number), &read));
    EXPECT_EQ(read, number);
    const double wide = std::sqrt(std::abs(static_cast<double>(number)));
    double wide_read;
    ASSERT_TRUE(absl::SimpleAtod(NumberText(wide), &wide_read));
    EXPECT_EQ(wide_read, wide);
  }
}

}  // namespace
}  // namespace regard
