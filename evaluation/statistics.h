// How much a number depends on what was measured: on the examples of a set, by
// resampling them, and on the seeds of trainings, by permutation tests.
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

// Mean of a metric over resamples of the examples, and its 2.5 % and 97.5 %
// percentiles, which a metric of a bounded range cannot exceed.
struct Confidence {
  double mean = 0;
  // Half of the distance between the percentiles, as sacreBLEU reports it.
  double half_width = 0;
  double low = 0;
  double high = 0;
};

// At most four significant digits, whole numbers in full: "0.9871", "1234",
// "1.2e-05", "nan".
std::string FormatMetric(double value);

// "38.1 [37.2, 39.04]": the mean and the percentiles.
std::string ConfidenceText(const Confidence& confidence);

// Of at least one value; CHECK-fails otherwise. Not finite if a value is not.
Confidence ConfidenceOf(std::vector<double> values);

// Bootstrap of the metric of these examples, at least one: a resample draws as
// many of them as there are, with replacement (Koehn, "Statistical significance
// tests for machine translation evaluation", EMNLP 2004). The draws depend on
// the seed and on how many examples there are.
Confidence BootstrapConfidence(const ExampleMetric& metric,
                               absl::Span<const size_t> examples,
                               uint64_t seed);

// That of each metric of the sets that are not empty, by name.
std::map<std::string, Confidence> BootstrapConfidence(
    absl::Span<const EvaluatedSet> sets, uint64_t seed);

// A metric of two runs on the same examples, at least one.
struct MetricPair {
  const ExampleMetric* run = nullptr;
  const ExampleMetric* baseline = nullptr;
  // ExamplesKey() of the set: the seed of random choices.
  uint64_t key = 0;
  // ExampleKeys() of the set. Pairs share the random choices of the examples
  // that they have in common. Empty: they share those of all examples if their
  // `key` is the same, else none.
  std::vector<uint64_t> examples = {};
};

// A hash of inputs and references.
uint64_t ExamplesKey(const EvaluatedSet& set);
// A hash of input and reference of each example, and of how many of the same
// stand before it in the set.
std::vector<uint64_t> ExampleKeys(const EvaluatedSet& set);

struct PairedTests {
  double difference = 0;       // run minus baseline, the mean over the pairs
  Confidence resampled = {};   // the same of resamples
  double bootstrap_p = 1;      // paired bootstrap resampling (Koehn 2004)
  double randomization_p = 1;  // paired approximate randomisation (Riezler and
                               // Maxwell, "On some pitfalls in automatic
                               // evaluation", 2005)
};

// Tests of whether the difference could be chance, by sacreBLEU's formulas:
// with d the difference of resamples,
//
//   bootstrap_p      (#(|d| - mean |d| >= |difference|) + 1) / (resamples + 1)
//   randomization_p  (#(|d'| >= |difference|) + 1) / (trials + 1)
//
// where d' is the difference after each example's results were swapped between
// the runs with probability 1/2. The second is two-sided. The first is
// one-sided: it counts only the resamples on the greater side, about half of a
// two-sided p-value. (sacreBLEU has > in place of >=, which finds a run
// significantly different from itself.) The examples are the units: one that
// several pairs have is drawn, or swapped, in all of them at once, so that
// several runs on the same examples do not count as more examples. At least one
// pair.
PairedTests ComparePaired(absl::Span<const MetricPair> pairs);

// Up to these many pairs all choices of signs are counted: a million.
inline constexpr int kMostExactPairs = 20;
// Beyond them, this many random choices; the p-value is then
// (as extreme + 1) / (choices + 1), which is never too small on average.
inline constexpr int kRandomChoices = 100000;

// Whether paired differences could have their mean by chance. If a change does
// nothing, each difference might as well have had the other sign: the two-sided
// p-value is the share of all 2^n choices of signs whose absolute sum is at
// least the one seen (Fisher, "The design of experiments", 1935, section 21),
// at least 2 / 2^n. NaN without pairs, or where a difference is not finite. The
// same differences always give the same bits.
double PairedPermutationTest(absl::Span<const double> differences);

struct DifferenceInterval {
  double low = 0;
  double high = 0;
};

// The values that PairedPermutationTest does not reject at kSignificanceLevel
// as the centre of the differences: a confidence interval of at least 95 %. It
// excludes 0 where that p-value is at most 0.05. The ends are order statistics
// of the means of all subsets (Hartigan, "Using subsample values as typical
// values", JASA 64, 1969), or of random ones beyond kMostExactPairs. Absent for
// fewer than 6 differences, or where one is not finite.
std::optional<DifferenceInterval> PermutationInterval(
    absl::Span<const double> differences);

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

// The largest corrected p-value that is called significant.
inline constexpr double kSignificanceLevel = 0.05;

// The fewest seeds with which any of so many comparisons, at least one, can be
// significant: the least n of comparisons * 2 / 2^n <= kSignificanceLevel. No
// p-value of PairedPermutationTest is below 2 / 2^n, and HolmAdjusted leaves
// none below the smallest times the number of comparisons. Each doubling of the
// comparisons takes one more.
int SeedsForSignificance(size_t comparisons);

struct SampleSummary {
  int n = 0;
  double mean = 0;  // NaN for none
  // Divides by n - 1; NaN for fewer than two.
  double standard_deviation = 0;
};

SampleSummary Summarize(absl::Span<const double> values);

// "0.25 (0.12)": the mean and the standard deviation, which is left out where
// there is none.
std::string SampleText(const SampleSummary& summary);

}  // namespace regard

#endif  // EVALUATION_STATISTICS_H_
