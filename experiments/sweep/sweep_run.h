// Trains the cells of a sweep in child processes, and reports on them.
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

// Trains the cells that wait, as many at the same time as `options.jobs`, and
// shows in `output` how they are. A cell whose training fails does not stop the
// others. Returns the signal that stopped the sweep, or 0. All runs are saved
// then, and the same call goes on with them.
absl::StatusOr<int> TrainCells(const Sweep& sweep, const SweepOptions& options,
                               const CellPrograms& programs,
                               const ProgressOutput& output, SweepCells& cells);

// Writes a record for each cell, so that `regard train` may train it in its
// folder, and returns a command for each cell that waits, one a line.
absl::StatusOr<std::string> TrainCommands(const Sweep& sweep,
                                          const SweepOptions& options,
                                          SweepCells& cells);

// The runs of the cells, for a report. A cell without results is there with the
// reason.
Grid GridOf(const Sweep& sweep, const SweepCells& cells,
            const Plugins& plugins);

// The text of cells.jsonl.
absl::StatusOr<std::string> FinishedText(const SweepCells& cells);

// Writes cells.jsonl, report.html and report.md.
absl::Status WriteSweepReport(const SweepOptions& options,
                              const SweepCells& cells, const Grid& grid);

// The exit code of a sweep that was not stopped: 0 if all its cells finished,
// 3 if the training of the others diverged, else the code of the first failure.
int SweepExitCode(const SweepCells& cells);

}  // namespace regard

#endif  // EXPERIMENTS_SWEEP_SWEEP_RUN_H_
