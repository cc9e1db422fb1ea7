// The results of single training runs and of grids of runs, for comparisons and
// ablation reports.
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
  // The path of the field, or another name if the axis is not a single field.
  std::string name = {};
  std::vector<AxisValue> values = {};
  size_t baseline = 0;  // index of the value that all others are compared with
};

struct ComparedRun {
  // The label of the run, or the run folder as the user typed it.
  std::string label = {};
  // The index of the run's value on each axis.
  std::vector<size_t> coordinates = {};
  std::string seed = {};
  // The reason why this run has no results. Empty for a run with results.
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

// Whether the field `path` only describes the run for its readers, as `name`,
// `note` and `tags` do. Runs that differ only in such fields are equal.
bool IsAnnotation(absl::string_view path);

// Reads run.json, resolved.textproto and status.json, which are small files. An
// error names the file.
absl::StatusOr<ComparedRun> ReadRunSummary(const std::string& folder);

// Like ReadRunSummary(), but also reads examples.jsonl if it exists. Skips
// metrics whose aggregate is unknown. An error names the file.
absl::StatusOr<ComparedRun> ReadRun(const std::string& folder,
                                    const Aggregates& aggregates);

// A grid of runs. Coordinates are in range, and no two runs have the same
// coordinates and the same seed.
struct ResultGrid {
  std::string label = {};
  std::string name = {};
  std::string question = {};  // may be empty
  std::vector<std::string> metrics = {};
  std::string primary = {};  // see PrimaryMetric
  std::vector<Axis> axes = {};
  std::vector<ComparedRun> runs = {};
};

// Returns the label of a value, such as "dot". If the label is a number or a
// boolean, the name of the axis precedes it, as in "width 64".
std::string ValueName(const Axis& axis, size_t value);

// Returns the name of the run's cell, such as "dot", or "width 64, dot" with
// two axes.
std::string CellName(const ResultGrid& grid, const ComparedRun& run);

// Returns the metrics that at least one run has.
std::set<std::string> AllMetrics(const ResultGrid& grid);

// Returns the metrics that the grid names. If it names none, returns all test
// metrics. If there are no test metrics, returns all dev metrics, or all
// metrics if there are no dev metrics. In these cases, the result includes the
// primary metric.
std::vector<std::string> MetricsToShow(const ResultGrid& grid);

// Returns the metric with which a report begins: the grid's primary metric, or
// the first metric that the grid names. If the grid names no metric, returns
// the task's first metric on the test split, or on dev if there is no test
// split. Empty if no run has a metric.
std::string PrimaryMetric(const ResultGrid& grid);

// Returns whether higher or lower values of the metric are better, according to
// the first run that states it.
Better DirectionOf(const ResultGrid& grid, const std::string& metric);

// Returns a text such as "interrupted at step 40", or "" for a finished run,
// whose numbers are final.
std::string UnfinishedText(const RunStatus& status);

// Returns a text such as "1 cell" or "2 cells".
std::string Pluralize(size_t count, absl::string_view noun);

// Reads the results of a finished run from its folder. If this is not possible,
// the error contains the text of failure.txt, the state of the run, or the file
// that cannot be read.
absl::StatusOr<ComparedRun> ReadFinishedRun(const std::string& folder,
                                            const Aggregates& aggregates);

}  // namespace regard

#endif  // EXPERIMENTS_ABLATION_GRID_H_
