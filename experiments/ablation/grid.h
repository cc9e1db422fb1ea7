// Training runs and what they reached, on their own and as a grid: what
// comparisons and an ablation's report are made from.
#ifndef EXPERIMENTS_ABLATION_GRID_H_
#define EXPERIMENTS_ABLATION_GRID_H_

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "evaluation/metric.h"
#include "experiments/report/run_results.h"
#include "experiments/run/metric.h"
#include "experiments/run/metrics_log.h"
#include "experiments/run/status.h"
#include "optimization/evaluated_set.h"
#include "options/resolved.h"

namespace regard {

struct AxisValue {
  std::string label = {};
  std::vector<std::string> overrides = {};  // as given to --set
};

struct Axis {
  std::string name = {};  // a field path, where values are values of a field
  std::vector<AxisValue> values = {};
  size_t baseline = 0;  // index of the value that others are compared with
};

struct GridRun {
  std::string label = {};                // or its folder, as it was given
  std::vector<size_t> coordinates = {};  // an index into each axis's values
  std::string seed = {};
  // Why there is nothing of the below; empty for a run that finished.
  std::string missing = {};
  RunStatus status = {};
  std::vector<MetricInfo> metric_infos = {};
  std::vector<ResolvedField> config = {};
  // SHA-256 of the data, by the field that names them.
  std::map<std::string, std::string> data = {};
  std::vector<EvaluatedSet> sets = {};  // of examples.jsonl
  std::vector<MetricsRecord> records = {};
  std::vector<LabelledMatrix> maps = {};  // what it shows of its attention
};

// Whether a field of an experiment describes the run for its readers, so that
// runs which differ only there are the same: its name, note and tags.
bool IsAnnotation(absl::string_view path);

// Reads run.json, resolved.textproto and status.json, which are small. The
// error names the file.
absl::StatusOr<GridRun> ReadRunSummary(const std::string& folder);

// Reads the same and, if it is there, examples.jsonl, without metrics whose
// aggregate is not known. The error names the file.
absl::StatusOr<GridRun> ReadRun(const std::string& folder,
                                const Aggregates& aggregates);

// Invariants: coordinates are in range; no two runs have
// the same coordinates and seed.
struct Grid {
  std::string label = {};
  std::string name = {};
  std::string question = {};  // may be empty
  std::vector<std::string> metrics = {};
  std::string primary = {};  // see PrimaryMetric
  std::vector<Axis> axes = {};
  std::vector<GridRun> runs = {};
};

// The value's label, with the axis's name before it if it is a number or a
// truth value: "dot", "width 64".
std::string ValueName(const Axis& axis, size_t value);

// The name of the run's cell: "dot", or "width 64, dot" of several axes.
std::string CellName(const Grid& grid, const GridRun& run);

// Metrics that any run has.
std::set<std::string> AllMetrics(const Grid& grid);

// Those that the grid names, else all of tests that any run has, else all dev/
// ones, else all; the primary metric is one of them.
std::vector<std::string> MetricsToShow(const Grid& grid);

// The metric that a report begins with: the grid's own, else the first that it
// names, else the task's first on the test split, else on dev. Empty if no run
// has a metric.
std::string PrimaryMetric(const Grid& grid);

// Which values of the metric are better, as far as any run tells.
Better DirectionOf(const Grid& grid, const std::string& metric);

// "interrupted at step 40"; empty for a finished run, whose numbers are final.
std::string UnfinishedText(const RunStatus& status);

// "1 cell", "2 cells".
std::string Counted(size_t count, absl::string_view noun);

// Reads what a finished run left in its folder. The error says why there is
// none: the run's failure.txt, its state, or a file that cannot be read.
absl::StatusOr<GridRun> ReadFinishedRun(const std::string& folder,
                                        const Aggregates& aggregates);

}  // namespace regard

#endif  // EXPERIMENTS_ABLATION_GRID_H_
