// Trains the cells of a sweep in child processes, and writes reports on them.
#ifndef EXPERIMENTS_SWEEP_SWEEP_RUN_H_
#define EXPERIMENTS_SWEEP_SWEEP_RUN_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "experiments/ablation/grid.h"
#include "experiments/report/progress.h"
#include "experiments/sweep/sweep_cells.h"
#include "experiments/tasks/plugins.h"

namespace regard {

// Trains the waiting cells, `options.jobs` at the same time, and shows their
// progress in `output`. A cell whose training fails does not stop other cells.
// Returns the signal that stopped the sweep, or 0. After a signal, all runs are
// saved, and another call continues them.
absl::StatusOr<int> TrainCells(const Sweep& sweep, const SweepOptions& options,
                               const CellFunctions& functions,
                               const ProgressOutput& output, SweepCells& cells);

// Writes a record for each cell, so that `regard train` may train the cell in
// its folder. Returns the commands that train the waiting cells, one per line.
absl::StatusOr<std::string> TrainCommands(const Sweep& sweep,
                                          const SweepOptions& options,
                                          SweepCells& cells);

// Returns the runs of the cells as a grid for reports. For a run without
// results, ComparedRun::missing states the reason.
ResultGrid GridOf(const Sweep& sweep, const SweepCells& cells,
                  const Plugins& plugins);

// Returns the text of cells.jsonl.
absl::StatusOr<std::string> FinishedText(const SweepCells& cells);

// Writes cells.jsonl, report.html and report.md.
absl::Status WriteSweepReport(const SweepOptions& options,
                              const SweepCells& cells, const ResultGrid& grid);

// Returns the exit code of a sweep that was not stopped:
//   * 0 if no cell failed,
//   * kExitDiverged if all failed cells diverged,
//   * otherwise kExitWrongInput or kExitFailed, as for the first cell that
//     failed without diverging.
int SweepExitCode(const SweepCells& cells);

}  // namespace regard

#endif  // EXPERIMENTS_SWEEP_SWEEP_RUN_H_
