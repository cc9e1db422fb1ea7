#include "experiments/ablation/holm.h"

#include <cmath>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsNan;

TEST(HolmAdjusted, MultipliesEachByThoseNotYetRejected) {
  EXPECT_THAT(HolmAdjusted({0.04, 0.01, 0.03}),
              ElementsAre(DoubleEq(0.06), DoubleEq(0.03), DoubleEq(0.06)));
}

TEST(HolmAdjusted, LeavesASinglePValue) {
  EXPECT_THAT(HolmAdjusted({0.02}), ElementsAre(0.02));
}

TEST(HolmAdjusted, StopsAtOne) {
  EXPECT_THAT(HolmAdjusted({0.5, 0.9}), ElementsAre(1, 1));
}

TEST(HolmAdjusted, DoesNotCountWhatWasNotTested) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(HolmAdjusted({nan, 0.25, 0.125}),
              ElementsAre(IsNan(), 0.25, 0.25));
}

TEST(HolmAdjusted, TakesNoPValues) { EXPECT_THAT(HolmAdjusted({}), IsEmpty()); }

}  // namespace
}  // namespace regard
