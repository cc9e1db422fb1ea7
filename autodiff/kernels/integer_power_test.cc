#include "autodiff/kernels/integer_power.h"

#include "gtest/gtest.h"

namespace regard {
namespace {

TEST(IntegerPowerTest, IsExactWhereTheResultIsRepresentable) {
  EXPECT_EQ(IntegerPower(0.5, 0), 1);
  EXPECT_EQ(IntegerPower(0.5, 1), 0.5);
  EXPECT_EQ(IntegerPower(0.5, 13), 0x1p-13);
  EXPECT_EQ(IntegerPower(3.0, 5), 243);
  EXPECT_EQ(IntegerPower(3.0f, 5), 243);
  EXPECT_EQ(IntegerPower(-2.0f, 3), -8);
}

TEST(IntegerPowerTest, ANegativeExponentGivesTheReciprocal) {
  EXPECT_EQ(IntegerPower(2.0, -3), 0.125);
  EXPECT_EQ(IntegerPower(-4.0f, -1), -0.25f);
}

TEST(IntegerPowerTest, TakesTheCountOfUpdatesOfALongRun) {
  EXPECT_EQ(IntegerPower(1.0, int64_t{1} << 62), 1);
  EXPECT_EQ(IntegerPower(0.5, int64_t{1} << 40), 0);
}

}  // namespace
}  // namespace regard
