#include "experiments/report/metric_description.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"

namespace regard {
namespace {

TEST(MetricDescriptionTest, LooksAtWhatFollowsTheLastSlash) {
  EXPECT_EQ(MetricDescription("test/exact_match"),
            "share of sentences translated word for word");
  EXPECT_EQ(MetricDescription("test/never_together/exact_match"),
            MetricDescription("exact_match"));
}

TEST(MetricDescriptionTest, KnowsEveryMetricOfTheContract) {
  for (const char* name :
       {"loss", "perplexity", "token_accuracy", "exact_match", "bleu", "chrf",
        "d2l_loss", "d2l_bleu_k2", "alignment_error_rate", "mse"}) {
    EXPECT_NE(MetricDescription(name), "") << name;
  }
}

TEST(MetricDescriptionTest, IsEmptyForAnUnknownName) {
  EXPECT_EQ(MetricDescription("test/charm"), "");
  EXPECT_EQ(MetricDescription(""), "");
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
