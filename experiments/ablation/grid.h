// Results of training runs, alone or in a grid. Comparisons and ablation
// reports use them.
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
  std::vector<std::string> overrides = {};  // overrides in the form of --set
};

struct Axis {
  // The path of a field, if the values are values of a field.
  std::string name = {};
  std::vector<AxisValue> values = {};
  size_t baseline = 0;  // index of the value with which the others are compared
};

struct GridRun {
  std::string label = {};  // or the run folder, as the user typed it
  // An index into the values of each axis.
  std::vector<size_t> coordinates = {};
  std::string seed = {};
  // The reason why the fields below are empty. Empty for a finished run.
  std::string missing = {};
  RunStatus status = {};
  std::vector<MetricInfo> metric_infos = {};
  std::vector<ResolvedField> config = {};
  // SHA-256 of each data file, by the config field that names it.
  std::map<std::string, std::string> data = {};
  std::vector<EvaluatedSet> sets = {};  // the content of examples.jsonl
  std::vector<MetricsRecord> records = {};
  std::vector<LabelledMatrix> maps = {};  // attention maps that the run shows
};

// Whether a field only describes the run for its readers: its name, note and
// tags. Runs that differ only in such fields are equal.
bool IsAnnotation(absl::string_view path);

// Reads run.json, resolved.textproto and status.json, which are small. The
// error names the file.
absl::StatusOr<GridRun> ReadRunSummary(const std::string& folder);

// Like ReadRunSummary(), but also reads examples.jsonl if it exists. Skips
// metrics whose aggregate is unknown. The error names the file.
absl::StatusOr<GridRun> ReadRun(const std::string& folder,
                                const Aggregates& aggregates);

// A grid of runs. Invariants: coordinates are in range; no two runs have the
// same coordinates and the same seed.
struct Grid {
  std::string label = {};
  std::string name = {};
  std::string question = {};  // may be empty
  std::vector<std::string> metrics = {};
  std::string primary = {};  // see PrimaryMetric
  std::vector<Axis> axes = {};
  std::vector<GridRun> runs = {};
};

// Returns the label of the value: "dot". If the label is a number or a truth
// value, the name of the axis precedes it: "width 64".
std::string ValueName(const Axis& axis, size_t value);

// Returns the name of the run's cell: "dot", or "width 64, dot" for several
// axes.
std::string CellName(const Grid& grid, const GridRun& run);

// Returns the metrics that any run has.
std::set<std::string> AllMetrics(const Grid& grid);

// Returns the metrics that the grid names. If it names none, returns all test
// metrics of any run, else all dev metrics, else all metrics. The result
// includes the primary metric.
std::vector<std::string> MetricsToShow(const Grid& grid);

// Returns the metric with which a report begins: the grid's primary metric,
// else the first that the grid names. If it names none, returns the task's
// first metric on the test split, else on dev. Empty if no run has a metric.
std::string PrimaryMetric(const Grid& grid);

// Returns which values of the metric are better, if any run defines it.
Better DirectionOf(const Grid& grid, const std::string& metric);

// Returns a text such as "interrupted at step 40". Empty for a finished run,
// whose numbers are final.
std::string UnfinishedText(const RunStatus& status);

// Returns a text such as "1 cell" or "2 cells".
std::string Counted(size_t count, absl::string_view noun);

// Reads the results of a finished run from its folder. If there are none, the
// error states the reason: failure.txt, the state of the run, or a file that
// cannot be read.
absl::StatusOr<GridRun> ReadFinishedRun(const std::string& folder,
                                        const Aggregates& aggregates);

}  // namespace regard

#endif  // EXPERIMENTS_ABLATION_GRID_H_
