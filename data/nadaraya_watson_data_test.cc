#include "data/nadaraya_watson_data.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "data/nadaraya_watson_data.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::Ge;
using ::testing::Lt;
using ::testing::SizeIs;

TEST(NadarayaWatsonTruthTest, MatchesValuesByHand) {
  EXPECT_DOUBLE_EQ(NadarayaWatsonTruth(0.0, 0.8), 0.0);
  // The expected values are 2 * sin(1) + 1 and 2 * sin(4) + 4^0.5.
  EXPECT_NEAR(NadarayaWatsonTruth(1.0, 0.8), 2.682941969615793, 1e-15);
  EXPECT_NEAR(NadarayaWatsonTruth(4.0, 0.5), 0.486395009384144, 1e-15);
}

TEST(NadarayaWatsonDataTest, HasThePointsOfEdition017) {
  const RegressionData data = MakeNadarayaWatsonData({}, /*seed=*/1);
  EXPECT_THAT(data.training.x, SizeIs(50));
  EXPECT_THAT(data.training.y, SizeIs(50));
  EXPECT_THAT(data.training.x, Each(AllOf(Ge(0.0), Lt(5.0))));
  EXPECT_TRUE(std::is_sorted(data.training.x.begin(), data.training.x.end()));
  ASSERT_THAT(data.test.x, SizeIs(50));
  ASSERT_THAT(data.test.y, SizeIs(50));
  EXPECT_EQ(data.test.x.front(), 0.0);
  EXPECT_NEAR(data.test.x.back(), 4.9, 1e-12);
  EXPECT_EQ(data.test.y[10], NadarayaWatsonTruth(data.test.x[10], 0.8));
}

TEST(NadarayaWatsonDataTest, HasThePointsOfEdition1) {
  NadarayaWatsonDataConfig options;
  options.set_points(40);
  options.set_exponent(1.0);
  options.set_noise(1.0);
  const RegressionData data = MakeNadarayaWatsonData(options, /*seed=*/1);
  EXPECT_THAT(data.training.x, SizeIs(40));
  EXPECT_THAT(data.test.x, SizeIs(50));
  EXPECT_EQ(data.test.y[20], NadarayaWatsonTruth(data.test.x[20], 1.0));
}

TEST(NadarayaWatsonDataTest, IsAFunctionOfTheSeed) {
  const RegressionData a = MakeNadarayaWatsonData({}, 7);
  const RegressionData b = MakeNadarayaWatsonData({}, 7);
  const RegressionData c = MakeNadarayaWatsonData({}, 8);
  EXPECT_EQ(a.training.x, b.training.x);
  EXPECT_EQ(a.training.y, b.training.y);
  EXPECT_NE(a.training.x, c.training.x);
}

TEST(NadarayaWatsonDataTest, NoiseHasTheStatedSize) {
  NadarayaWatsonDataConfig options;
  options.set_points(20000);
  const Points points = MakeNadarayaWatsonData(options, 3).training;
  double sum = 0.0;
  double squares = 0.0;
  for (size_t i = 0; i < points.x.size(); ++i) {
    const double noise = points.y[i] - NadarayaWatsonTruth(points.x[i], 0.8);
    sum += noise;
    squares += noise * noise;
  }
  const double count = static_cast<double>(points.x.size());
  // The tolerances are four standard errors.
  EXPECT_NEAR(sum / count, 0.0, 4 * 0.5 / std::sqrt(count));
  EXPECT_NEAR(squares / count, 0.25, 4 * 0.25 * std::sqrt(2.0 / count));
  EXPECT_NEAR(std::accumulate(points.x.begin(), points.x.end(), 0.0) / count,
              2.5, 4 * 5.0 / std::sqrt(12.0 * count));
}

TEST(NadarayaWatsonDataTest, WithoutNoiseThePointsLieOnTheCurve) {
  NadarayaWatsonDataConfig options;
  options.set_points(1);
  options.set_noise(0.0);
  const Points points = MakeNadarayaWatsonData(options, 5).training;
  ASSERT_THAT(points.x, SizeIs(1));
  EXPECT_EQ(points.y[0], NadarayaWatsonTruth(points.x[0], 0.8));
}

double TestError(const RegressionData& data, double kernel_width) {
  double error = 0.0;
  for (size_t q = 0; q < data.test.x.size(); ++q) {
    double weights = 0.0;
    double sum = 0.0;
    for (size_t k = 0; k < data.training.x.size(); ++k) {
      const double distance =
          (data.test.x[q] - data.training.x[k]) / kernel_width;
      const double weight = std::exp(-0.5 * distance * distance);
      weights += weight;
      sum += weight * data.training.y[k];
    }
    error += std::pow(sum / weights - data.test.y[q], 2);
  }
  return error / static_cast<double>(data.test.x.size());
}

// The median test errors over seeds must be close to the median test errors of
// the published problem. These are 0.893 (0.885 to 0.965) for average pooling,
// and 0.415 (0.321 to 0.560) for the Gaussian kernel of width 1.
TEST(NadarayaWatsonDataTest, IsAsHardAsThePublishedProblem) {
  std::vector<double> averages;
  std::vector<double> kernels;
  for (uint64_t seed = 0; seed < 101; ++seed) {
    const RegressionData data = MakeNadarayaWatsonData({}, seed);
    averages.push_back(TestError(data, /*kernel_width=*/1e6));
    kernels.push_back(TestError(data, /*kernel_width=*/1.0));
  }
  std::nth_element(averages.begin(), averages.begin() + 50, averages.end());
  std::nth_element(kernels.begin(), kernels.begin() + 50, kernels.end());
  EXPECT_NEAR(averages[50], 0.893, 0.02);
  EXPECT_NEAR(kernels[50], 0.415, 0.03);
}

}  // namespace
}  // namespace regard
