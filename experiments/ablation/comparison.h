// Compares the values of an axis with its baseline, and tells of it in sections
// of a report.
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

// The same pairs of runs, tested over the examples that they were measured on.
struct ComparisonOverExamples {
  int pairs = 0;
  size_t examples = 0;        // different ones, of all data sets
  size_t examples_a_run = 0;  // of the largest data set
  PairedTests tests = {};
  double corrected_p_value = 1;  // of tests.randomization_p
};

struct Comparison {
  std::string metric = {};
  size_t axis = 0;
  size_t value = 0;  // compared with the axis's baseline
  // One difference for each seed: value minus baseline, averaged over the pairs
  // of runs that agree on all other axes. Runs that share a seed share data and
  // luck, so they count as one.
  SampleSummary differences = {};
  std::vector<double> by_seed = {};  // the differences
  // Pairs of which a run failed or lacks the metric that its partner has. The
  // differences are of the others; where there are any, they are not tested.
  int missing_pairs = 0;
  double p_value = 1;  // of PairedPermutationTest
  double corrected_p_value = 1;
  // Absent where a run is missing, or does not tell what the metric is made of,
  // or the examples of a pair are not the same.
  std::optional<ComparisonOverExamples> over_examples = {};

  // Whether runs of the value have the metric, or would, had they not failed.
  bool Measured() const { return differences.n > 0 || missing_pairs > 0; }
  bool Significant() const { return corrected_p_value <= kSignificanceLevel; }
};

// For each of MetricsToShow, every value of every axis against the axis's
// baseline; p-values are corrected over all comparisons of one metric, those
// that a missing run or a number that is not finite left without one included.
std::vector<Comparison> CompareWithBaselines(const Grid& grid);

// "significantly higher", "not significant", "2 pairs missing", ...
std::string Verdict(const Comparison& comparison);

// " (better)" or " (worse)" of a significant difference, where the metric says
// which is; else empty.
absl::string_view Judgement(const Grid& grid, const Comparison& comparison);

// Sections of a report: a row for each comparison, with p-values and the
// verdict, how they were made, and whether the seeds are enough for so many
// comparisons. The second is of comparisons over examples, and its table is
// empty without any.
Section SeedsSection(const Grid& grid,
                     const std::vector<Comparison>& comparisons);
Section ExamplesSection(const Grid& grid,
                        const std::vector<Comparison>& comparisons);

// How runs of one seed that should differ in their axis alone differ besides,
// one sentence each. An axis may change the fields that its values set and,
// where those are members of a oneof, clear the other members.
std::vector<std::string> ConfoundedComparisons(const Grid& grid);

}  // namespace regard

#endif  // EXPERIMENTS_ABLATION_COMPARISON_H_
