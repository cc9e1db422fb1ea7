#include "autodiff/random.h"

#include <array>
#include <cmath>
#include <cstdint>

#include "gtest/gtest.h"

namespace regard {
namespace {

// The known answers of the Random123 distribution (kat_vectors, philox4x32 10).
TEST(PhiloxTest, MatchesThePublishedVectors) {
  EXPECT_EQ(Philox({0, 0, 0, 0}, {0, 0}),
            (std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c,
                                     0x9b00dbd8}));
  EXPECT_EQ(Philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
                   {0xffffffff, 0xffffffff}),
            (std::array<uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6,
                                     0x6d5451fd}));
  EXPECT_EQ(Philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                   {0xa4093822, 0x299f31d0}),
            (std::array<uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420,
                                     0x24126ea1}));
}

TEST(RandomStreamTest, DependsOnSeedPurposeAndIndexOnly) {
  const RandomStream stream(1, "init");
  EXPECT_EQ(stream.BitsAt(7), RandomStream(1, "init").BitsAt(7));
  EXPECT_NE(stream.BitsAt(7), stream.BitsAt(8));
  EXPECT_NE(stream.BitsAt(7), RandomStream(2, "init").BitsAt(7));
  EXPECT_NE(stream.BitsAt(7), RandomStream(1, "order").BitsAt(7));
}

TEST(RandomStreamTest, UniformHasItsMoments) {
  const RandomStream stream(3, "uniform");
  double sum = 0;
  double squares = 0;
  const int n = 100000;
  for (int i = 0; i < n; ++i) {
    const double u = stream.UniformAt(i);
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    sum += u;
    squares += u * u;
  }
  EXPECT_NEAR(sum / n, 0.5, 0.004);  // 4 standard errors
  EXPECT_NEAR(squares / n, 1.0 / 3, 0.004);
}

TEST(RandomStreamTest, NormalHasItsMoments) {
  const RandomStream stream(4, "normal");
  double sum = 0;
  double squares = 0;
  double fourth = 0;
  const int n = 100000;
  for (int i = 0; i < n; ++i) {
    const double x = stream.NormalAt(i);
    sum += x;
    squares += x * x;
    fourth += x * x * x * x;
  }
  EXPECT_NEAR(sum / n, 0, 0.013);  // 4 standard errors
  EXPECT_NEAR(squares / n, 1, 0.018);
  EXPECT_NEAR(fourth / n, 3, 0.13);
}

TEST(RandomStreamTest, BelowCoversItsRange) {
  const RandomStream stream(5, "below");
  std::array<int, 3> counts = {};
  for (int i = 0; i < 3000; ++i) ++counts.at(stream.UniformIntAt(i, 3));
  for (const int count : counts) EXPECT_NEAR(count, 1000, 104);
  EXPECT_EQ(stream.UniformIntAt(0, 1), 0u);
}

}  // namespace
}  // namespace regard
