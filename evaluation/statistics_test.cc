#include "evaluation/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "optimization/evaluated_set.h"

namespace regard {
namespace {

// Returns a metric with these fractions of right outputs.
MetricOverExamples Shares(const std::vector<double>& right) {
  MetricOverExamples metric = {.name = "test/accuracy"};
  for (const double share : right) metric.Add({share, 1});
  return metric;
}

// Returns a metric in which the first `right` of `size` examples are right.
MetricOverExamples FirstRight(size_t right, size_t size) {
  std::vector<double> shares(size);
  std::fill_n(shares.begin(), right, 1.0);
  return Shares(shares);
}

std::vector<size_t> All(const MetricOverExamples& metric) {
  std::vector<size_t> all(metric.statistics.size() / 2);
  std::iota(all.begin(), all.end(), size_t{0});
  return all;
}

PairedTests Compare(const MetricOverExamples& run,
                    const MetricOverExamples& baseline, uint64_t key = 7) {
  const ExampleMetricPair pair = {&run, &baseline, key};
  return ComparePaired({&pair, 1});
}

TEST(FormatMetricTest, ShowsFourDigitsAndWholeNumbersInFull) {
  EXPECT_EQ(FormatMetric(0.98712), "0.9871");
  EXPECT_EQ(FormatMetric(48210), "48210");
  EXPECT_EQ(FormatMetric(0), "0");
  EXPECT_EQ(FormatMetric(1.25e-5), "1.25e-05");
  EXPECT_EQ(FormatMetric(std::nan("")), "nan");
  EXPECT_EQ(FormatMetric(std::numeric_limits<double>::infinity()), "inf");
}

TEST(ConfidenceTest, IsTheMeanAndThePercentiles) {
  // sacreBLEU takes the sorted values 25 and 974 of 1,000, counted from 0.
  std::vector<double> values(1000);
  std::iota(values.begin(), values.end(), 0.0);
  std::reverse(values.begin(), values.end());
  const ConfidenceInterval confidence = ComputeConfidenceInterval(values);
  EXPECT_DOUBLE_EQ(confidence.mean, 499.5);
  EXPECT_DOUBLE_EQ(confidence.half_width, (974.0 - 25.0) / 2);
  EXPECT_EQ(confidence.low, 25);
  EXPECT_EQ(confidence.high, 974);
  EXPECT_EQ(ConfidenceText(confidence), "499.5 [25, 974]");
}

TEST(ConfidenceTest, StaysInTheRangeOfItsValues) {
  // Nearly all examples are right, so the mean plus half of the width exceeds
  // 1. The percentiles must not exceed 1.
  const MetricOverExamples metric = FirstRight(19, 20);
  const ConfidenceInterval confidence =
      BootstrapConfidence(metric, All(metric), 1);
  EXPECT_GT(confidence.mean + confidence.half_width, 1);
  EXPECT_EQ(confidence.high, 1);
  EXPECT_EQ(ConfidenceText(confidence), "0.9529 [0.85, 1]");
}

TEST(ConfidenceTest, IsTheOnlyValue) {
  EXPECT_EQ(ComputeConfidenceInterval({3}).mean, 3);
  EXPECT_EQ(ComputeConfidenceInterval({3}).half_width, 0);
}

TEST(ConfidenceTest, IsNotFiniteForNonFiniteValues) {
  std::vector<double> values(1000, 1.0);
  for (size_t i = 0; i < values.size(); i += 3) values[i] = std::nan("");
  EXPECT_TRUE(std::isnan(ComputeConfidenceInterval(values).mean));
  EXPECT_TRUE(std::isnan(ComputeConfidenceInterval(values).half_width));
}

TEST(ComparePairedTest, NanIsNeverSignificant) {
  const PairedTests tests =
      Compare(Shares({1, std::nan(""), 1}), Shares({0, 0, 0}));
  EXPECT_TRUE(std::isnan(tests.difference));
  EXPECT_TRUE(std::isnan(tests.resampled.mean));
  EXPECT_EQ(tests.bootstrap_p, 1);
  EXPECT_EQ(tests.randomization_p, 1);
}

TEST(ConfidenceDeathTest, NeedsValues) {
  EXPECT_DEATH(ComputeConfidenceInterval({}), "no values");
}

// The half width must be 1.96 standard errors. The standard error of a fraction
// p of n is sqrt(p (1 - p) / n). With 1,000 resamples, the bootstrap has its
// own sampling error of about 4 %.
TEST(BootstrapTest, FindsTheStandardErrorOfAFraction) {
  const MetricOverExamples metric = FirstRight(300, 400);
  const ConfidenceInterval confidence =
      BootstrapConfidence(metric, All(metric), 1);
  const double error = std::sqrt(0.75 * 0.25 / 400);
  EXPECT_NEAR(confidence.mean, 0.75, 4 * error / std::sqrt(1000.0));
  EXPECT_NEAR(confidence.half_width, 1.96 * error, 0.1 * error);
}

TEST(BootstrapTest, IsAFunctionOfTheSeed) {
  const MetricOverExamples metric = FirstRight(30, 41);
  const auto mean = [&](uint64_t seed) {
    return BootstrapConfidence(metric, All(metric), seed).mean;
  };
  EXPECT_EQ(mean(1), mean(1));
  EXPECT_NE(mean(1), mean(2));
}

TEST(BootstrapTest, HasNoWidthForEqualExamples) {
  const MetricOverExamples metric = FirstRight(3, 7);
  const ConfidenceInterval right = BootstrapConfidence(metric, {0, 1, 2}, 1);
  EXPECT_EQ(right.mean, 1);
  EXPECT_EQ(right.half_width, 0);
  EXPECT_EQ(BootstrapConfidence(metric, {6}, 1).mean, 0);
}

TEST(BootstrapTest, CoversEachMetricOfEachSetWithExamples) {
  EvaluatedSet set = {.examples = {{}, {}}};
  set.metrics = {FirstRight(1, 2)};
  const auto intervals = BootstrapConfidence({EvaluatedSet(), set}, 1);
  ASSERT_EQ(intervals.size(), 1);
  EXPECT_NEAR(intervals.at("test/accuracy").mean, 0.5, 0.05);
  // One of the four possible draws has no right example, and one has no wrong
  // example. The percentiles are therefore 0 and 1.
  EXPECT_EQ(intervals.at("test/accuracy").half_width, 0.5);
}

TEST(ComparePairedTest, ARunDoesNotDifferFromItself) {
  const MetricOverExamples metric = FirstRight(30, 100);
  const PairedTests tests = Compare(metric, metric);
  EXPECT_EQ(tests.difference, 0);
  EXPECT_EQ(tests.bootstrap_p, 1);
  EXPECT_EQ(tests.randomization_p, 1);
}

TEST(ComparePairedTest, ABetterRunIsBetter) {
  const PairedTests tests = Compare(FirstRight(80, 100), FirstRight(50, 100));
  EXPECT_DOUBLE_EQ(tests.difference, 0.3);
  EXPECT_NEAR(tests.resampled.mean, 0.3, 0.01);
  // Thirty examples differ, and the run is better on all of them. The
  // probability of this by chance is 2 * 2^-30.
  EXPECT_EQ(tests.randomization_p, 1.0 / (kRandomizationTrials + 1));
  EXPECT_EQ(tests.bootstrap_p, 1.0 / (kBootstrapResamples + 1));
}

// The results of the two runs differ on two examples, and the run is better on
// both. Two of the four ways to swap these results keep or reverse the
// difference, so the p-value must be about 1/2.
TEST(ComparePairedTest, RandomizationCountsTheFractionOfSwaps) {
  const PairedTests tests = Compare(FirstRight(7, 9), FirstRight(5, 9));
  EXPECT_NEAR(tests.randomization_p, 0.5, 0.02);
  // With five differing examples, the fraction is 2 of 32.
  EXPECT_NEAR(Compare(FirstRight(7, 9), FirstRight(2, 9)).randomization_p,
              1.0 / 16, 0.01);
}

TEST(ComparePairedTest, SwappingRunsChangesOnlyTheSign) {
  const MetricOverExamples run = Shares({1, 0, 0.5, 1, 1, 0, 1});
  const MetricOverExamples baseline = Shares({0, 0, 1, 1, 0, 0, 0});
  const PairedTests there = Compare(run, baseline);
  const PairedTests back = Compare(baseline, run);
  EXPECT_EQ(there.difference, -back.difference);
  EXPECT_EQ(there.resampled.half_width, back.resampled.half_width);
  EXPECT_EQ(there.bootstrap_p, back.bootstrap_p);
  EXPECT_EQ(there.randomization_p, back.randomization_p);
}

TEST(ComparePairedTest, PairsOfOneSetDoNotCountTwice) {
  // The same pair of runs is passed twice. This must not count as more
  // evidence.
  const MetricOverExamples run = FirstRight(7, 9);
  const MetricOverExamples baseline = FirstRight(4, 9);
  const ExampleMetricPair pair = {&run, &baseline, 7};
  const PairedTests once = ComparePaired({&pair, 1});
  const PairedTests twice = ComparePaired({pair, pair});
  EXPECT_DOUBLE_EQ(twice.difference, once.difference);
  EXPECT_EQ(twice.randomization_p, once.randomization_p);
  EXPECT_DOUBLE_EQ(twice.resampled.half_width, once.resampled.half_width);
  // Two pairs of runs on different examples have six examples that differ. In 2
  // of the 64 ways to swap them, the difference is as extreme as the observed
  // difference.
  const ExampleMetricPair other = {&run, &baseline, 8};
  EXPECT_NEAR(once.randomization_p, 2.0 / 8, 0.02);
  EXPECT_NEAR(ComparePaired({pair, other}).randomization_p, 2.0 / 64, 0.01);
}

TEST(ComparePairedTest, AnExampleOfSeveralSetsIsOneUnit) {
  const MetricOverExamples run = FirstRight(7, 9);
  const MetricOverExamples baseline = FirstRight(4, 9);
  const std::vector<uint64_t> examples = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  // The same nine examples in reverse order, after two examples on which the
  // runs do not differ.
  const MetricOverExamples reversed_run =
      Shares({1, 1, 0, 0, 1, 1, 1, 1, 1, 1, 1});
  const MetricOverExamples reversed_baseline =
      Shares({1, 1, 0, 0, 0, 0, 0, 1, 1, 1, 1});
  const PairedTests tests =
      ComparePaired({{&run, &baseline, 7, examples},
                     {&reversed_run,
                      &reversed_baseline,
                      8,
                      {10, 11, 9, 8, 7, 6, 5, 4, 3, 2, 1}}});
  // Three examples differ. In 2 of the 8 ways to swap them, the difference is
  // as extreme as the observed difference.
  EXPECT_NEAR(tests.randomization_p, 2.0 / 8, 0.02);
}

TEST(ExampleKeysTest, DistinguishExamples) {
  const EvaluatedSet set = {
      .examples = {{"a", "b", "x", 1}, {"a", "c", "x", 1}, {"a", "b", "y", 1}}};
  const std::vector<uint64_t> keys = ExampleKeys(set);
  EXPECT_NE(keys[0], keys[1]);
  EXPECT_NE(keys[0], keys[2]);
  const EvaluatedSet other = {
      .examples = {{"d", "e", "x", 1}, {"a", "b", "z", 1}}};
  EXPECT_EQ(ExampleKeys(other)[1], keys[0]);
}

TEST(ComparePairedDeathTest, NeedsTheSameExamples) {
  EXPECT_DEATH(Compare(FirstRight(1, 2), FirstRight(1, 3)), "statistics");
  EXPECT_DEATH(ComparePaired({}), "nothing to compare");
}

TEST(ExamplesKeyTest, DistinguishesSets) {
  EvaluatedSet set = {.examples = {{"a", "bc", "output", 1}}};
  const uint64_t key = ExamplesKey(set);
  set.examples[0].output = "other";
  EXPECT_EQ(ExamplesKey(set), key);
  set.examples[0] = {"ab", "c", "other", 1};
  EXPECT_NE(ExamplesKey(set), key);
}

using ::testing::AllOf;
using ::testing::Gt;
using ::testing::Lt;

TEST(PairedPermutationTest, CountsAllChoicesOfSigns) {
  // The sums of +-1 +-2 +-4 are 7, 5, 3, 1 and their negatives. Only 7 and -7
  // are as extreme as 1 + 2 + 4. The sums 5 and 7 and their negatives are at
  // least as extreme as -1 + 2 + 4.
  EXPECT_EQ(PairedPermutationTest({1.0, 2.0, 4.0}), 2.0 / 8);
  EXPECT_EQ(PairedPermutationTest({-1.0, 2.0, 4.0}), 4.0 / 8);
  EXPECT_EQ(PairedPermutationTest({1.0, 2.0, -4.0}), 8.0 / 8);
}

TEST(PairedPermutationTest, IsTwoSided) {
  EXPECT_EQ(PairedPermutationTest({-1.0, -2.0, -4.0}), 2.0 / 8);
}

TEST(PairedPermutationTest, CannotBeSignificantWithFivePairs) {
  // The smallest p-value of five pairs is 2 / 2^5.
  EXPECT_EQ(PairedPermutationTest({1, 2, 3, 4, 5}), 0.0625);
}

TEST(PairedPermutationTest, HasNoPValueForOnePair) {
  EXPECT_EQ(PairedPermutationTest({3.5}), 1);
}

TEST(PairedPermutationTest, HasNoPValueWithoutPairsOrFiniteNumbers) {
  EXPECT_TRUE(std::isnan(PairedPermutationTest({})));
  EXPECT_TRUE(std::isnan(
      PairedPermutationTest({1, std::numeric_limits<double>::quiet_NaN()})));
}

TEST(PairedPermutationTest, EqualRunsDoNotDiffer) {
  EXPECT_EQ(PairedPermutationTest({0, 0, 0, 0, 0, 0, 0}), 1);
}

TEST(PairedPermutationTest, CountsSumsThatRoundingParts) {
  // In binary, 0.1 + 0.2 - 0.3 is not 0. The p-value must still be 1, as for a
  // sum of 0, in every order.
  EXPECT_EQ(PairedPermutationTest({0.1, 0.2, -0.3}), 1);
  EXPECT_EQ(PairedPermutationTest({-0.3, 0.2, 0.1}), 1);
}

TEST(PairedPermutationTest, SamplesChoicesOfManyPairs) {
  // There are 21 differences of magnitude 1, and 16 are positive. The exact
  // p-value is 2 P(X >= 16), where X is binomial with 21 trials:
  // 2 * 27896 / 2^21 = 0.026604.
  std::vector<double> differences(21, 1.0);
  for (int i = 0; i < 5; ++i) differences[i] = -1;
  EXPECT_THAT(PairedPermutationTest(differences),
              AllOf(Gt(0.0251), Lt(0.0281)));
}

TEST(PairedPermutationTest, FlipsEverySignOfMoreThanSixtyFourPairs) {
  // All differences are equal, so no random choice of signs is as extreme.
  const std::vector<double> differences(130, 1.0);
  EXPECT_EQ(PairedPermutationTest(differences), 1.0 / (kRandomChoices + 1));
}

TEST(PermutationInterval, SpansAllSixDifferences) {
  // The ends are the smallest and the largest of 63 means, because 64 * 0.025
  // is less than 2.
  const auto interval = PermutationInterval({3, 1, 2, 6, 5, 4});
  ASSERT_TRUE(interval.has_value());
  EXPECT_EQ(interval->low, 1);
  EXPECT_EQ(interval->high, 6);
}

TEST(PermutationInterval, IsNarrowerThanSevenDifferences) {
  // The ends are the third smallest and the third largest of 127 means, because
  // 128 * 0.025 is 3.2. The means outside of the interval are 0, 0.5 (of 0 and
  // 1), 12.5 and 13.
  const auto interval = PermutationInterval({0, 1, 2, 10, 11, 12, 13});
  ASSERT_TRUE(interval.has_value());
  EXPECT_EQ(interval->low, 1);
  EXPECT_EQ(interval->high, 12);
}

TEST(PermutationInterval, ExcludesZeroIfTheTestRejectsIt) {
  const std::vector<std::vector<double>> cases = {
      {1, 2, 3, 4, 5, 6},         {-1, 2, 3, 4, 5, 6},
      {-1, 2, 3, 4, 5, 6, 7},     {-4, 2, 3, 4, 5, 6, 7},
      {1, -2, 4, -8, 16, -32, 5}, {-1, -2, -3, -4, -5, -6, 0.5, -9}};
  for (const std::vector<double>& differences : cases) {
    const auto interval = PermutationInterval(differences);
    ASSERT_TRUE(interval.has_value());
    EXPECT_EQ(interval->low > 0 || interval->high < 0,
              PairedPermutationTest(differences) <= kSignificanceLevel)
        << differences[0] << " of " << differences.size();
  }
}

TEST(PermutationInterval, SamplesSubsetsOfManyDifferences) {
  std::vector<double> differences;
  for (int i = 0; i < 25; ++i) differences.push_back(i);
  const auto interval = PermutationInterval(differences);
  ASSERT_TRUE(interval.has_value());
  // The normal approximation is 12 -+ 1.96 * sqrt(52 / 25).
  EXPECT_NEAR(interval->low, 9.2, 0.4);
  EXPECT_NEAR(interval->high, 14.8, 0.4);
}

TEST(PermutationInterval, NeedsSixFiniteDifferences) {
  EXPECT_FALSE(PermutationInterval({}).has_value());
  EXPECT_FALSE(PermutationInterval({1, 2, 3, 4, 5}).has_value());
  EXPECT_FALSE(PermutationInterval({1, 2, 3, 4, 5, NAN}).has_value());
}

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsNan;

TEST(HolmAdjusted, MultipliesEachByTheNumberNotYetRejected) {
  EXPECT_THAT(HolmAdjusted({0.04, 0.01, 0.03}),
              ElementsAre(DoubleEq(0.06), DoubleEq(0.03), DoubleEq(0.06)));
}

TEST(HolmAdjusted, LeavesASinglePValue) {
  EXPECT_THAT(HolmAdjusted({0.02}), ElementsAre(0.02));
}

TEST(HolmAdjusted, StopsAtOne) {
  EXPECT_THAT(HolmAdjusted({0.5, 0.9}), ElementsAre(1, 1));
}

TEST(HolmAdjusted, CountsComparisonsWithoutATest) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(HolmAdjusted({nan, 0.25, 0.125}),
              ElementsAre(IsNan(), 0.5, 0.375));
}

TEST(HolmAdjusted, AcceptsNoPValues) {
  EXPECT_THAT(HolmAdjusted({}), IsEmpty());
}

TEST(SeedsForSignificance, IsTheSmallestSignificantNumberAfterHolm) {
  for (const size_t comparisons : {1, 2, 3, 5, 12}) {
    const int seeds = SeedsForSignificance(comparisons);
    // All differences of a comparison have the same sign, and all comparisons
    // have the same p-value.
    const auto smallest = [&](int pairs) {
      const double p = PairedPermutationTest(std::vector<double>(pairs, 1.0));
      return HolmAdjusted(std::vector<double>(comparisons, p))[0];
    };
    EXPECT_LE(smallest(seeds), kSignificanceLevel) << comparisons;
    EXPECT_GT(smallest(seeds - 1), kSignificanceLevel) << comparisons;
  }
}

TEST(SeedsForSignificance, GrowsByOneWithEachDoubling) {
  EXPECT_EQ(SeedsForSignificance(1), 6);
  EXPECT_EQ(SeedsForSignificance(2), 7);
  EXPECT_EQ(SeedsForSignificance(3), 7);
  EXPECT_EQ(SeedsForSignificance(4), 8);
  EXPECT_EQ(SeedsForSignificance(1 << 20), 26);
}

TEST(Summarize, DividesByOneLessThanTheCount) {
  // The deviations from the mean are -2, -1 and 3, so the variance is 14 / 2.
  const SampleSummary summary = Summarize({1, 2, 6});
  EXPECT_EQ(summary.n, 3);
  EXPECT_EQ(summary.mean, 3);
  EXPECT_DOUBLE_EQ(summary.standard_deviation, std::sqrt(7));
}

TEST(Summarize, HasNoDeviationForOneValue) {
  const SampleSummary summary = Summarize({2.5});
  EXPECT_EQ(summary.n, 1);
  EXPECT_EQ(summary.mean, 2.5);
  EXPECT_TRUE(std::isnan(summary.standard_deviation));
}

TEST(Summarize, HasNoMeanWithoutValues) {
  const SampleSummary summary = Summarize({});
  EXPECT_EQ(summary.n, 0);
  EXPECT_TRUE(std::isnan(summary.mean));
}

}  // namespace
}  // namespace regard
