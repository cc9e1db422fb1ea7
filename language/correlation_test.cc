#include "language/correlation.h"

#include <cmath>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsNan;

// scipy 1.17.1 computed the expected numbers.
constexpr double kX[] = {0.3, 0.9, -0.2, 0.9, 0.5, 0.45};
constexpr double kY[] = {1.5, 5, 0, 3.8, 3.8, 1};

TEST(CorrelationTest, MatchesScipy) {
  EXPECT_THAT(CorrelationMetric("pearson", kX, kY).Value(),
              DoubleNear(0.8804282007238671, 1e-14));
  const std::vector<double> x = RanksOf(kX);
  const std::vector<double> y = RanksOf(kY);
  EXPECT_THAT(CorrelationMetric("spearman", x, y).Value(),
              DoubleNear(0.8970588235294118, 1e-14));
}

TEST(CorrelationTest, EqualNumbersShareTheMeanOfTheirRanks) {
  EXPECT_THAT(RanksOf(kX), ElementsAre(2, 5.5, 1, 5.5, 4, 3));
  EXPECT_THAT(RanksOf({7, 7, 7}), ElementsAre(2, 2, 2));
  EXPECT_THAT(RanksOf({}), ElementsAre());
}

TEST(CorrelationTest, IsExactWhereNumbersAreLarge) {
  const double x[] = {1e9 + 1, 1e9 + 2, 1e9 + 3};
  const double y[] = {-1e9, -1e9 - 2, -1e9 - 4};
  const MetricOverExamples metric = CorrelationMetric("pearson", x, y);
  EXPECT_EQ(metric.name, "pearson");
  EXPECT_DOUBLE_EQ(metric.Value(), -1);
  // The first resample contains the first two pairs. The second contains one
  // pair twice.
  EXPECT_DOUBLE_EQ(metric.ValueOf({0, 1}), -1);
  EXPECT_EQ(metric.ValueOf({1, 1}), 0);
}

TEST(CorrelationTest, IsZeroForConstants) {
  const double same[] = {4, 4, 4};
  const double other[] = {1, 2, 3};
  EXPECT_EQ(CorrelationMetric("x", same, other).Value(), 0);
  EXPECT_EQ(CorrelationMetric("x", other, same).Value(), 0);
  EXPECT_EQ(CorrelationMetric("x", {}, {}).Value(), 0);
}

TEST(CorrelationTest, IsNanIfANumberIsNan) {
  const double x[] = {1, std::nan(""), 3};
  const double y[] = {1, 2, 4};
  EXPECT_TRUE(std::isnan(CorrelationMetric("pearson", x, y).Value()));
  EXPECT_TRUE(std::isnan(CorrelationMetric("pearson", y, x).Value()));
  const double same[] = {4, 4, 4};
  EXPECT_TRUE(std::isnan(CorrelationMetric("pearson", x, same).Value()));
  EXPECT_THAT(RanksOf(x), Each(IsNan()));
}

TEST(CorrelationDeathTest, RequiresEqualSizes) {
  EXPECT_DEATH(CorrelationMetric("pearson", {1, 2}, {1}), "pearson");
}

}  // namespace
}  // namespace regard
