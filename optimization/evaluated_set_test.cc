#include "optimization/evaluated_set.h"

#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::ElementsAre;

MetricOverExamples Accuracy() {
  MetricOverExamples metric = {.name = "accuracy"};
  metric.Add({2, 4});
  metric.Add({0, 1});
  metric.Add({3, 5});
  return metric;
}

TEST(MetricOverExamplesTest, FollowsFromSumsOverExamples) {
  const MetricOverExamples metric = Accuracy();
  EXPECT_THAT(metric.StatisticsOf(2), ElementsAre(3, 5));
  EXPECT_DOUBLE_EQ(metric.Value(), 5.0 / 10);
  EXPECT_DOUBLE_EQ(metric.ValueOf(2), 3.0 / 5);
  EXPECT_DOUBLE_EQ(metric.ValueOf({0, 1}), 2.0 / 5);
}

TEST(MetricOverExamplesTest, AnExampleMayOccurSeveralTimes) {
  EXPECT_DOUBLE_EQ(Accuracy().ValueOf({2, 2, 1}), 6.0 / 11);
}

TEST(MetricOverExamplesTest, ARatioWithoutExamplesIsZero) {
  EXPECT_EQ(MetricOverExamples().Value(), 0);
  EXPECT_EQ(Accuracy().ValueOf(absl::Span<const size_t>()), 0);
}

TEST(MetricOverExamplesDeathTest, RequiresTheStatisticsOfTheAggregate) {
  MetricOverExamples metric = {.name = "accuracy"};
  EXPECT_DEATH(metric.Add({1, 2, 3}), "accuracy");
}

}  // namespace
}  // namespace regard
