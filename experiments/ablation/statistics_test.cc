#include "experiments/ablation/statistics.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::AllOf;
using ::testing::Gt;
using ::testing::Lt;

TEST(PairedPermutationTest, CountsAllChoicesOfSigns) {
  // Sums of +-1 +-2 +-4: 7, 5, 3, 1 and their negatives. Only +-7 are as
  // extreme as 7; +-7 and +-5 are as extreme as -1 + 2 + 4.
  EXPECT_EQ(PairedPermutationTest({1.0, 2.0, 4.0}).p_value, 2.0 / 8);
  EXPECT_EQ(PairedPermutationTest({-1.0, 2.0, 4.0}).p_value, 4.0 / 8);
  EXPECT_EQ(PairedPermutationTest({1.0, 2.0, -4.0}).p_value, 8.0 / 8);
}

TEST(PairedPermutationTest, IsTwoSided) {
  EXPECT_EQ(PairedPermutationTest({-1.0, -2.0, -4.0}).p_value, 2.0 / 8);
}

TEST(PairedPermutationTest, CannotBeSignificantWithFivePairs) {
  const PermutationTest test = PairedPermutationTest({1, 2, 3, 4, 5});
  EXPECT_EQ(test.p_value, 0.0625);
  EXPECT_EQ(test.smallest_p_value, 0.0625);
  EXPECT_TRUE(test.exact);
}

TEST(PairedPermutationTest, SaysNothingOfOnePair) {
  const PermutationTest test = PairedPermutationTest({3.5});
  EXPECT_EQ(test.p_value, 1);
  EXPECT_EQ(test.smallest_p_value, 1);
}

TEST(PairedPermutationTest, HasNoPValueWithoutPairsOrFiniteNumbers) {
  EXPECT_TRUE(std::isnan(PairedPermutationTest({}).p_value));
  EXPECT_TRUE(std::isnan(
      PairedPermutationTest({1, std::numeric_limits<double>::quiet_NaN()})
          .p_value));
}

TEST(PairedPermutationTest, TakesEqualRunsForNoDifference) {
  EXPECT_EQ(PairedPermutationTest({0, 0, 0, 0, 0, 0, 0}).p_value, 1);
}

TEST(PairedPermutationTest, CountsSumsThatRoundingParts) {
  // 0.1 + 0.2 - 0.3 is not 0 in binary, but every order must count as a tie.
  EXPECT_EQ(PairedPermutationTest({0.1, 0.2, -0.3}).p_value, 1);
  EXPECT_EQ(PairedPermutationTest({-0.3, 0.2, 0.1}).p_value, 1);
}

TEST(PairedPermutationTest, SamplesChoicesOfManyPairs) {
  // 21 differences of 1: the exact p-value of 16 positive ones is
  // 2 P(X >= 16), X binomial of 21 trials: 2 * 27896 / 2^21 = 0.026604.
  std::vector<double> differences(21, 1.0);
  for (int i = 0; i < 5; ++i) differences[i] = -1;
  const PermutationTest test = PairedPermutationTest(differences);
  EXPECT_FALSE(test.exact);
  EXPECT_THAT(test.p_value, AllOf(Gt(0.0251), Lt(0.0281)));
}

TEST(PairedPermutationTest, FlipsEverySignOfMoreThanSixtyFourPairs) {
  // All alike: no sampled choice comes near.
  const std::vector<double> differences(130, 1.0);
  EXPECT_EQ(PairedPermutationTest(differences).p_value,
            1.0 / (kRandomChoices + 1));
}

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

TEST(HolmAdjusted, CountsWhatCouldNotBeTested) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(HolmAdjusted({nan, 0.25, 0.125}),
              ElementsAre(IsNan(), 0.5, 0.375));
}

TEST(HolmAdjusted, TakesNoPValues) { EXPECT_THAT(HolmAdjusted({}), IsEmpty()); }

TEST(Summarize, DividesByOneLessThanTheCount) {
  // Deviations -2, -1, 3: 14 / 2.
  const SampleSummary summary = Summarize({1, 2, 6});
  EXPECT_EQ(summary.n, 3);
  EXPECT_EQ(summary.mean, 3);
  EXPECT_DOUBLE_EQ(summary.standard_deviation, std::sqrt(7));
}

TEST(Summarize, KnowsNoDeviationOfOneValue) {
  const SampleSummary summary = Summarize({2.5});
  EXPECT_EQ(summary.n, 1);
  EXPECT_EQ(summary.mean, 2.5);
  EXPECT_TRUE(std::isnan(summary.standard_deviation));
}

TEST(Summarize, KnowsNoMeanOfNothing) {
  const SampleSummary summary = Summarize({});
  EXPECT_EQ(summary.n, 0);
  EXPECT_TRUE(std::isnan(summary.mean));
}

}  // namespace
}  // namespace regard
