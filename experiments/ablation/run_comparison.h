// Says how runs differ: two in their configs and numbers, several in whether
// their differences could be chance.
#ifndef EXPERIMENTS_ABLATION_RUN_COMPARISON_H_
#define EXPERIMENTS_ABLATION_RUN_COMPARISON_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "experiments/ablation/grid.h"
#include "experiments/config/resolved.h"
#include "experiments/run/metric.h"
#include "experiments/run/status.h"
#include "nn/evaluated_set.h"

namespace regard {

// A run as its folder tells of it.
struct StoredRun {
  std::string name = {};  // of the folder, as it was given
  std::vector<ResolvedField> config = {};
  RunStatus status = {};
  std::vector<MetricInfo> metrics = {};
  // Of test, or of dev where there is no test.
  std::vector<EvaluatedSet> sets = {};
};

// Reads run.json, resolved.textproto, status.json and, if it is there,
// examples.jsonl. The error names the file.
absl::StatusOr<StoredRun> ReadStoredRun(const std::string& folder,
                                        const Aggregates& aggregates);

// Lines to print: each field that differs as "before -> after", then each
// metric with its change, then whether the weights are equal bit for bit. What
// only one run has is said to be missing from the other.
std::string RunComparisonText(const StoredRun& before, const StoredRun& after);

// The runs as a grid of one axis, "run", of which the first one is the
// baseline. Runs that differ in `name` and `seed` alone are one value, if any
// run differs in more.
Grid GridOfRuns(absl::Span<const StoredRun> runs);

// Lines to print of such a grid: each run's metrics of examples with their 95 %
// intervals, then comparisons over examples and, where a value has several
// seeds, over seeds.
std::string SignificanceText(const Grid& grid);

}  // namespace regard

#endif  // EXPERIMENTS_ABLATION_RUN_COMPARISON_H_
