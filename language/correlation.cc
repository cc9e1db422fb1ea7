#include "language/correlation.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>

#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

double MeanOf(absl::Span<const double> numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), 0.0) /
         static_cast<double>(numbers.size());
}

}  // namespace

double CorrelationOfSums(absl::Span<const double> sums) {
  const double n = sums[0];
  const double x_variance = n * sums[3] - sums[1] * sums[1];
  const double y_variance = n * sums[4] - sums[2] * sums[2];
  if (std::isnan(x_variance + y_variance)) return x_variance + y_variance;
  if (x_variance <= 0 || y_variance <= 0) return 0;
  return (n * sums[5] - sums[1] * sums[2]) /
         (std::sqrt(x_variance) * std::sqrt(y_variance));
}

MetricOverExamples CorrelationMetric(const std::string& name,
                                     absl::Span<const double> x,
                                     absl::Span<const double> y) {
  REGARD_CHECK_EQ(x.size(), y.size()) << name;
  MetricOverExamples metric = {.name = name, .aggregate = &kCorrelation};
  const double x_mean = MeanOf(x);
  const double y_mean = MeanOf(y);
  for (size_t i = 0; i < x.size(); ++i) {
    const double a = x[i] - x_mean;
    const double b = y[i] - y_mean;
    metric.Add({1, a, b, a * a, b * b, a * b});
  }
  return metric;
}

std::vector<double> RanksOf(absl::Span<const double> numbers) {
  // NaN has no rank.
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  if (std::ranges::any_of(numbers, [](double x) { return std::isnan(x); })) {
    return std::vector<double>(numbers.size(), kNan);
  }
  std::vector<size_t> order(numbers.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [&](size_t i) { return numbers[i]; });
  std::vector<double> ranks(numbers.size());
  for (size_t begin = 0; begin < order.size();) {
    size_t end = begin + 1;
    while (end < order.size() && numbers[order[end]] == numbers[order[begin]]) {
      ++end;
    }
    for (size_t i = begin; i < end; ++i) {
      ranks[order[i]] = static_cast<double>(begin + 1 + end) / 2;
    }
    begin = end;
  }
  return ranks;
}

}  // namespace regard
