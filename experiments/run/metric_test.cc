#include "experiments/run/metric.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace regard {
namespace {

const std::vector<MetricInfo>& Metrics() {
  static const auto* metrics = new std::vector<MetricInfo>{
      {"loss", "nats per token", "cross-entropy", Better::kLower},
      {"bleu", "", "overlap", Better::kHigher},
      {"learning_rate", "", "of the optimizer", Better::kNeither}};
  return *metrics;
}

TEST(FindMetricTest, LooksAtWhatFollowsTheLastSlash) {
  EXPECT_EQ(FindMetric(Metrics(), "test/bleu"), &Metrics()[1]);
  EXPECT_EQ(FindMetric(Metrics(), "loss"), &Metrics()[0]);
  EXPECT_EQ(FindMetric(Metrics(), "test/los"), nullptr);
  EXPECT_EQ(FindMetric(Metrics(), ""), nullptr);
}

TEST(MetricDescriptionTest, SaysMeaningUnitAndDirection) {
  EXPECT_EQ(MetricDescription(Metrics()[0]),
            "cross-entropy (nats per token); lower is better");
  EXPECT_EQ(MetricDescription(Metrics()[1]), "overlap; higher is better");
  EXPECT_EQ(MetricDescription(Metrics()[2]), "of the optimizer");
}

TEST(FormatMetricTest, ShowsFourDigitsAndWholeNumbersInFull) {
  EXPECT_EQ(FormatMetric(0.98712), "0.9871");
  EXPECT_EQ(FormatMetric(48210), "48210");
  EXPECT_EQ(FormatMetric(0), "0");
  EXPECT_EQ(FormatMetric(1.25e-5), "1.25e-05");
  EXPECT_EQ(FormatMetric(std::nan("")), "nan");
  EXPECT_EQ(FormatMetric(std::numeric_limits<double>::infinity()), "inf");
}

}  // namespace
}  // namespace regard
