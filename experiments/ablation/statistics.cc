#include "experiments/ablation/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "autodiff/random.h"

namespace regard {
namespace {

// The sum with the signs of those differences flipped whose bit is set.
double FlippedSum(absl::Span<const double> differences, uint64_t flips) {
  double sum = 0;
  for (size_t i = 0; i < differences.size(); ++i) {
    sum += (flips >> i & 1) != 0 ? -differences[i] : differences[i];
  }
  return sum;
}

double RandomlyFlippedSum(absl::Span<const double> differences,
                          const RandomStream& random, uint64_t choice) {
  const uint64_t words = (differences.size() + 63) / 64;
  double sum = 0;
  uint64_t bits = 0;
  for (size_t i = 0; i < differences.size(); ++i) {
    if (i % 64 == 0) bits = random.BitsAt(choice * words + i / 64);
    sum += (bits >> (i % 64) & 1) != 0 ? -differences[i] : differences[i];
  }
  return sum;
}

}  // namespace

PermutationTest PairedPermutationTest(absl::Span<const double> differences) {
  const int n = static_cast<int>(differences.size());
  double sum = 0;
  double scale = 0;
  for (const double difference : differences) {
    sum += difference;
    scale += std::abs(difference);
  }
  PermutationTest test;
  test.smallest_p_value = n == 0 ? 1 : std::ldexp(1.0, 1 - n);
  test.exact = n <= kMostExactPairs;
  if (n == 0 || !std::isfinite(scale)) {
    test.p_value = std::numeric_limits<double>::quiet_NaN();
    return test;
  }
  // Sums that are equal on paper count as equal, however they are rounded.
  const double seen = std::abs(sum) - 1e-12 * scale;
  if (test.exact) {
    // The other half are these with all signs flipped.
    const uint64_t half = uint64_t{1} << (n - 1);
    uint64_t extreme = 0;
    for (uint64_t flips = 0; flips < half; ++flips) {
      if (std::abs(FlippedSum(differences, flips)) >= seen) ++extreme;
    }
    test.p_value = static_cast<double>(extreme) / static_cast<double>(half);
    return test;
  }
  const RandomStream random(0, "permutation_test");
  int64_t extreme = 0;
  for (int64_t choice = 0; choice < kRandomChoices; ++choice) {
    const double flipped = RandomlyFlippedSum(differences, random, choice);
    if (std::abs(flipped) >= seen) ++extreme;
  }
  test.p_value = static_cast<double>(extreme + 1) /
                 static_cast<double>(kRandomChoices + 1);
  return test;
}

std::vector<double> HolmAdjusted(absl::Span<const double> p_values) {
  std::vector<size_t> order;
  for (size_t i = 0; i < p_values.size(); ++i) {
    if (!std::isnan(p_values[i])) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return p_values[a] < p_values[b];
  });
  std::vector<double> adjusted(p_values.begin(), p_values.end());
  double largest = 0;
  for (size_t k = 0; k < order.size(); ++k) {
    const double factor = static_cast<double>(p_values.size() - k);
    largest = std::max(largest, factor * p_values[order[k]]);
    adjusted[order[k]] = std::min(1.0, largest);
  }
  return adjusted;
}

SampleSummary Summarize(absl::Span<const double> values) {
  SampleSummary summary;
  summary.n = static_cast<int>(values.size());
  summary.mean = std::numeric_limits<double>::quiet_NaN();
  summary.standard_deviation = summary.mean;
  if (values.empty()) return summary;
  double sum = 0;
  for (const double value : values) sum += value;
  summary.mean = sum / summary.n;
  if (summary.n < 2) return summary;
  double squares = 0;
  for (const double value : values) {
    squares += (value - summary.mean) * (value - summary.mean);
  }
  summary.standard_deviation = std::sqrt(squares / (summary.n - 1));
  return summary;
}

}  // namespace regard
