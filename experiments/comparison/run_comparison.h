// Says how runs differ: two in their configs and numbers, several in whether
// their differences could be chance.
#ifndef EXPERIMENTS_COMPARISON_RUN_COMPARISON_H_
#define EXPERIMENTS_COMPARISON_RUN_COMPARISON_H_

#include <string>

#include "absl/types/span.h"
#include "experiments/ablation/grid.h"
#include "nlohmann/json_fwd.hpp"

namespace regard {

// Lines to print: each field that differs as "before -> after", then each
// metric with its change, then whether the weights are equal bit for bit. What
// only one run has is said to be missing from the other.
std::string RunComparisonText(const GridRun& before, const GridRun& after);

// Lines to print: the state and the step of each run, and which runs are not
// compared because they have not finished. Empty for two finished runs, whose
// RunComparisonText() says it.
std::string StatesText(absl::Span<const GridRun> runs);

// The runs as a grid of one axis, "run", of which the first one is the
// baseline, with their sets of test, or of dev where there is no test. Runs
// that differ in `name` and `seed` alone are one value, if any run differs in
// more. A running or interrupted run, which may still finish, has a value but
// no run in the grid; a failed one is missing.
Grid GridOfRuns(absl::Span<const GridRun> runs);

// Lines to print of such a grid: each run's metrics of examples with their 95 %
// intervals, then comparisons over examples and, where a value has several
// seeds, over seeds.
std::string SignificanceText(const Grid& grid);

// All of this as an object; what two runs alone are compared in, if there are
// two.
nlohmann::ordered_json ComparisonJson(absl::Span<const GridRun> runs);

}  // namespace regard

#endif  // EXPERIMENTS_COMPARISON_RUN_COMPARISON_H_
