// A grid of training runs and what they reached: what an ablation's report is
// made from.
#ifndef EXPERIMENTS_ABLATION_GRID_H_
#define EXPERIMENTS_ABLATION_GRID_H_

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "experiments/config/resolved.h"
#include "experiments/report/run_results.h"
#include "experiments/run/metric.h"
#include "experiments/run/metrics_log.h"
#include "nn/evaluated_set.h"

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

// A training run.
struct GridRun {
  std::string label = {};
  std::vector<size_t> coordinates = {};  // an index into each axis's values
  std::string seed = {};
  // Why there are no metrics; empty for a run that finished.
  std::string missing = {};
  std::map<std::string, double> metrics = {};
  std::vector<MetricsRecord> records = {};
  std::vector<ResolvedField> config = {};
  std::vector<LabelledMatrix> maps = {};  // what it shows of its attention
  std::vector<EvaluatedSet> sets = {};    // of examples.jsonl
};

// Invariants, which ReadGrid checks: coordinates are in range; no two runs have
// the same coordinates and seed.
struct Grid {
  std::string label = {};
  std::string name = {};
  std::string question = {};  // may be empty
  std::vector<std::string> metrics = {};
  // What the runs declare of their metrics.
  std::vector<MetricInfo> metric_infos = {};
  std::vector<Axis> axes = {};
  std::vector<GridRun> runs = {};
};

// The runs with the same coordinates.
struct GridCell {
  std::vector<size_t> coordinates = {};
  std::vector<const GridRun*> runs = {};
};

// In the order of their first runs. Points into `grid`.
std::vector<GridCell> CellsOf(const Grid& grid);

// "dot", "width 64, dot": the values' labels, with the axis's name before a
// label that is a number or a truth value.
std::string CellName(const Grid& grid, const std::vector<size_t>& coordinates);
std::string ValueName(const Axis& axis, size_t value);

// Those that the grid names, else all of tests that any run has, else all dev/
// ones, else all.
std::vector<std::string> MetricsToShow(const Grid& grid);

// The metric in those runs of the cell that have it.
std::vector<double> ValuesOf(const GridCell& cell, const std::string& metric);

// Reads the description that the build rule `ablation` writes (JSON), and the
// files that it names. A run that failed, or whose files cannot be read, is in
// the grid with the reason; only a bad description is an error. Metrics of
// examples.jsonl whose aggregate is not known are left out of `sets`.
absl::StatusOr<Grid> ReadGrid(const std::string& path,
                              const Aggregates& aggregates);

}  // namespace regard

#endif  // EXPERIMENTS_ABLATION_GRID_H_
