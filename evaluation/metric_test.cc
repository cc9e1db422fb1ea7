#include "evaluation/metric.h"

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

}  // namespace
}  // namespace regard
