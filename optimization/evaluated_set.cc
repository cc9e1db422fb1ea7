#include "optimization/evaluated_set.h"

#include "third_party/abseil_backport/check.h"

namespace regard {

double RatioOfSums(absl::Span<const double> sums) {
  return sums[1] == 0 ? 0 : sums[0] / sums[1];
}

void MetricOverExamples::Add(absl::Span<const double> statistics_of_example) {
  REGARD_CHECK_EQ(static_cast<int>(statistics_of_example.size()),
                  aggregate->width)
      << name;
  statistics.insert(statistics.end(), statistics_of_example.begin(),
                    statistics_of_example.end());
}

double MetricOverExamples::ValueOf(absl::Span<const size_t> examples) const {
  const auto width = static_cast<size_t>(aggregate->width);
  std::vector<double> sums(width);
  for (const size_t example : examples) {
    const double* const row = statistics.data() + example * width;
    for (size_t i = 0; i < width; ++i) sums[i] += row[i];
  }
  return aggregate->value(sums);
}

double MetricOverExamples::Value() const {
  const auto width = static_cast<size_t>(aggregate->width);
  std::vector<double> sums(width);
  for (size_t i = 0; i < statistics.size(); ++i) {
    sums[i % width] += statistics[i];
  }
  return aggregate->value(sums);
}

}  // namespace regard
