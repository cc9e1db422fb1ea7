// Uncertainty of measured numbers. Bootstrap intervals and paired tests measure
// how a metric depends on the examples. Permutation tests measure how a metric
// depends on the seeds of training runs.
#ifndef EVALUATION_STATISTICS_H_
#define EVALUATION_STATISTICS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "optimization/evaluated_set.h"

namespace regard {

inline constexpr int kBootstrapResamples = 1000;
inline constexpr int kRandomizationTrials = 10000;

// The mean of a metric over resamples of the examples, and its 2.5 % and 97.5 %
// percentiles. The percentiles stay within the range of the metric.
struct ConfidenceInterval {
  double mean = 0;
  // Half of the distance between the percentiles, as reported by sacreBLEU.
  double half_width = 0;
  double low = 0;
  double high = 0;
};

// Formats a value with at most four significant digits, and whole numbers in
// full: "0.9871", "1234", "1.2e-05", "nan".
std::string FormatMetric(double value);

// Returns the mean and the percentiles, such as "38.1 [37.2, 39.04]".
std::string ConfidenceText(const ConfidenceInterval& confidence);

// Returns the mean and percentiles of `values`. Fails a check if `values` is
// empty. The result is not finite if a value is not finite.
ConfidenceInterval ComputeConfidenceInterval(std::vector<double> values);

// Bootstraps the metric over `examples`, which must not be empty. Each resample
// draws as many examples as there are, with replacement (Koehn, "Statistical
// significance tests for machine translation evaluation", EMNLP 2004). The
// draws depend on the seed and on the number of examples.
ConfidenceInterval BootstrapConfidence(const MetricOverExamples& metric,
                                       absl::Span<const size_t> examples,
                                       uint64_t seed);

// Bootstraps each metric of the sets that are not empty. The keys of the result
// are the names of the metrics.
std::map<std::string, ConfidenceInterval> BootstrapConfidence(
    absl::Span<const EvaluatedSet> sets, uint64_t seed);

// A metric of two runs on the same examples. There must be at least one
// example.
struct ExampleMetricPair {
  const MetricOverExamples* run = nullptr;
  const MetricOverExamples* baseline = nullptr;
  // ExamplesKey() of the set: the seed of random choices.
  uint64_t key = 0;
  // ExampleKeys() of the set. Pairs use the same random choices for the
  // examples that they share. If empty, pairs with the same `key` share all
  // examples, and other pairs share no examples.
  std::vector<uint64_t> examples = {};
};

// Returns a hash of the inputs and references of `set`.
uint64_t ExamplesKey(const EvaluatedSet& set);
// Returns, for each example, a hash of its input, its reference, and the number
// of equal examples before it.
std::vector<uint64_t> ExampleKeys(const EvaluatedSet& set);

struct PairedTests {
  double difference = 0;  // run minus baseline, the mean over the pairs
  ConfidenceInterval resampled = {};  // the difference over resamples
  double bootstrap_p = 1;      // paired bootstrap resampling (Koehn 2004)
  double randomization_p = 1;  // paired approximate randomization
};

// Tests whether the difference could be chance, by sacreBLEU's formulas:
//
//   bootstrap_p      (#(|d| - mean |d| >= |difference|) + 1) / (resamples + 1)
//   randomization_p  (#(|d'| >= |difference|) + 1) / (trials + 1)
//
// d is the difference in a resample. d' is the difference after the results of
// each example were swapped between the runs with probability 1/2. See Riezler
// and Maxwell, "On some pitfalls in automatic evaluation", 2005.
// randomization_p is two-sided. bootstrap_p is one-sided: it counts only the
// resamples on the greater side, so it is about half of a two-sided p-value.
// sacreBLEU uses > instead of >=, and therefore finds a run significantly
// different from itself.
//
// The units are examples. If several pairs share an example, it is drawn or
// swapped in all of these pairs at once. Several runs on the same examples
// therefore do not count as more examples. Requires at least one pair.
PairedTests ComparePaired(absl::Span<const ExampleMetricPair> pairs);

// Up to this number of pairs, all choices of signs are counted. There are at
// most about a million choices.
inline constexpr int kMaxExactPairs = 20;
// With more pairs, this number of random choices is drawn. The p-value is then
// (choices that are at least as extreme + 1) / (choices + 1). On average, this
// value is never too small.
inline constexpr int kRandomChoices = 100000;

// Returns the two-sided p-value of the mean of paired differences. If a change
// does nothing, each difference could equally well have the other sign. The
// p-value is the fraction of all 2^n choices of signs whose absolute sum is at
// least the observed absolute sum. See Fisher, "The design of experiments",
// 1935, section 21. The p-value is at least 2 / 2^n. Returns NaN without pairs,
// or if a difference is not finite. Equal differences always give bit-identical
// results.
double PairedPermutationTest(absl::Span<const double> differences);

struct DifferenceInterval {
  double low = 0;
  double high = 0;
};

// Returns a confidence interval of at least 95 % for the centre of the
// differences. It consists of the centres that PairedPermutationTest does not
// reject at kSignificanceLevel. It excludes 0 if the p-value is at most 0.05.
// The ends are order statistics of the means of all subsets. With more than
// kMaxExactPairs differences, random subsets are used. See Hartigan, "Using
// subsample values as typical values", JASA 64, 1969. Returns `nullopt` for
// fewer than 6 differences, or if a difference is not finite.
std::optional<DifferenceInterval> PermutationInterval(
    absl::Span<const double> differences);

// Returns p-values adjusted for many comparisons by Holm's method, in the order
// of `p_values`: "A simple sequentially rejective multiple test procedure",
// Scandinavian Journal of Statistics 6 (1979).
//
// Rejecting the hypotheses whose adjusted p-values are at most alpha keeps the
// probability of any false rejection at or below alpha. With m sorted values,
// the k-th smallest becomes the largest of (m - j + 1) p_j over j <= k, at most
// 1. NaN stays NaN and counts in m.
std::vector<double> HolmAdjusted(absl::Span<const double> p_values);

// The largest adjusted p-value that counts as significant.
inline constexpr double kSignificanceLevel = 0.05;

// Returns the smallest number of seeds with which any of `comparisons` >= 1
// comparisons can be significant. It is the smallest n with
// comparisons * 2 / 2^n <= kSignificanceLevel. No p-value of
// PairedPermutationTest is below 2 / 2^n. No value of HolmAdjusted is below the
// smallest p-value times the number of comparisons. Doubling the comparisons
// takes one more seed.
int SeedsForSignificance(size_t comparisons);

struct SampleSummary {
  int n = 0;
  double mean = 0;  // NaN without values
  // Divides by n - 1. NaN for fewer than two values.
  double standard_deviation = 0;
};

SampleSummary Summarize(absl::Span<const double> values);

// Returns the mean and the standard deviation, such as "0.25 (0.12)". Omits a
// standard deviation that is NaN.
std::string SampleText(const SampleSummary& summary);

}  // namespace regard

#endif  // EVALUATION_STATISTICS_H_
