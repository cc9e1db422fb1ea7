#include "experiments/ablation/sample_summary.h"

#include <cmath>

#include "gtest/gtest.h"

namespace regard {
namespace {

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
