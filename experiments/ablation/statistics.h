// Whether paired differences could have their mean by chance: a permutation
// test by sign flips.
//
// If a change does nothing, each difference might as well have had the other
// sign. The two-sided p-value is the share of all 2^n choices of signs whose
// absolute sum is at least the one seen (Fisher, "The design of experiments",
// 1935, section 21). Nothing is assumed of the distribution.
#ifndef EXPERIMENTS_ABLATION_STATISTICS_H_
#define EXPERIMENTS_ABLATION_STATISTICS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace regard {

struct PermutationTest {
  // NaN without pairs, or where a difference is not finite.
  double p_value = 1;
  // The smallest p-value that so many pairs can have: 2 / 2^n.
  double smallest_p_value = 1;
  // Whether all choices of signs were counted, not a sample of them.
  bool exact = true;
};

// Up to these many pairs all choices are counted: a million.
inline constexpr int kMostExactPairs = 20;
// Beyond them, this many random choices; the p-value is then
// (as extreme + 1) / (choices + 1), which is never too small on average.
inline constexpr int64_t kRandomChoices = 100000;

// The same differences always give the same bits.
PermutationTest PairedPermutationTest(absl::Span<const double> differences);

// Holm's correction of p-values for many comparisons: "A simple sequentially
// rejective multiple test procedure", Scandinavian Journal of Statistics 6
// (1979).
//
// The adjusted p-values, in the order given: rejecting those that are at most
// alpha keeps the probability of any false rejection at or below alpha. With
// the m values sorted, the k-th smallest becomes the largest of
// (m - j + 1) p_j over j <= k, at most 1. What is NaN stays so, and counts
// in m.
std::vector<double> HolmAdjusted(absl::Span<const double> p_values);

// Mean and standard deviation.
struct SampleSummary {
  int n = 0;
  double mean = 0;  // NaN for none
  // Of the sample, with n - 1; NaN for fewer than two.
  double standard_deviation = 0;
};

SampleSummary Summarize(absl::Span<const double> values);

}  // namespace regard

#endif  // EXPERIMENTS_ABLATION_STATISTICS_H_
