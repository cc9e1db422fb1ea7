// Compares the values of each axis with its baseline, and returns sections of a
// report about the comparisons.
#ifndef EXPERIMENTS_ABLATION_COMPARISON_H_
#define EXPERIMENTS_ABLATION_COMPARISON_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "evaluation/statistics.h"
#include "experiments/ablation/grid.h"
#include "experiments/report/report.h"

namespace regard {

// A statistical test of pairs of runs over the examples of their evaluations.
struct ComparisonOverExamples {
  int pairs = 0;
  // The number of different examples, over all data sets.
  size_t examples = 0;
  // The number of examples of the largest data set.
  size_t examples_a_run = 0;
  PairedTests tests = {};
  double corrected_p_value = 1;  // corrected tests.randomization_p
};

struct Comparison {
  std::string metric = {};
  size_t axis = 0;
  size_t value = 0;  // index of the value that is compared
  // The differences between the metric at this value and the metric at the
  // baseline, one for each seed. A difference is the mean over the pairs of
  // runs that are equal on all other axes. Runs with the same seed share their
  // data and random numbers, so they count as one observation.
  SampleSummary differences = {};
  std::vector<double> by_seed = {};  // the differences, one per seed
  // The number of pairs in which a run failed, or in which only one run has the
  // metric. `differences` excludes these pairs. If any pair is missing, the
  // difference is not tested.
  int missing_pairs = 0;
  double p_value = 1;  // see PairedPermutationTest
  double corrected_p_value = 1;
  // Absent if a run is missing or has no results per example for the metric.
  // Also absent if the two runs of a pair have different examples.
  std::optional<ComparisonOverExamples> over_examples = {};

  // Whether the runs at this value have the metric, or would have it if they
  // had not failed.
  bool RunsHaveMetric() const { return differences.n > 0 || missing_pairs > 0; }
  bool IsSignificant() const { return corrected_p_value <= kSignificanceLevel; }
};

// Compares every value of every axis with the baseline of the axis, for each
// metric of MetricsToShow(). P-values are corrected over all comparisons of one
// metric. The correction also counts comparisons without a p-value, in which a
// run is missing or a number is not finite.
std::vector<Comparison> CompareWithBaselines(const ResultGrid& grid);

// Returns the number of comparisons of a metric that all runs have. `grid`
// needs only axes and the coordinates of its runs.
size_t ComparisonsOfAMetric(const ResultGrid& grid);

// Returns "" if the seeds are enough for a significant difference in
// `comparisons` of one metric. Otherwise, returns a text such as "3 seeds, no
// difference can be significant: 2 comparisons require at least 7", to be
// written after "with".
std::string TooFewSeeds(int seeds, size_t comparisons);

// Returns "significantly higher", "not significant", "2 pairs missing", ...
std::string Verdict(const Comparison& comparison);

// Returns " (better)" or " (worse)" if the difference is significant and the
// metric defines which direction is better. Otherwise, returns "".
absl::string_view BetterOrWorseText(const ResultGrid& grid,
                                    const Comparison& comparison);

// Return sections of a report. The table of a section has one row for each
// comparison, with p-values. Its text explains the tests. SeedsSection() also
// shows verdicts, and states whether the seeds are enough for the number of
// comparisons. ExamplesSection() is about comparisons over examples. Its table
// is empty if there are no such comparisons.
Section SeedsSection(const ResultGrid& grid,
                     const std::vector<Comparison>& comparisons);
Section ExamplesSection(const ResultGrid& grid,
                        const std::vector<Comparison>& comparisons);

// Returns one sentence for each value whose runs differ from the baseline in
// fields that the axis should not change. Compares runs with the same seed. An
// axis may change the fields that its values set, and the other members of
// their oneofs.
std::vector<std::string> ConfoundedComparisons(const ResultGrid& grid);

}  // namespace regard

#endif  // EXPERIMENTS_ABLATION_COMPARISON_H_
