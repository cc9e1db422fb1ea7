// Runs of a sweep that were not trained in its directory.
#ifndef EXPERIMENTS_SWEEP_IMPORTED_RUNS_H_
#define EXPERIMENTS_SWEEP_IMPORTED_RUNS_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "experiments/sweep/sweep_cells.h"

namespace regard {

// Finds the cells whose folders have finished runs, and their keys.
absl::Status FindFinishedRuns(SweepCells& cells);

// Copies the finished runs below the folder `options.import_from` that have the
// key of a waiting cell. Returns how many.
absl::StatusOr<size_t> ImportRuns(const SweepOptions& options,
                                  SweepCells& cells);

}  // namespace regard

#endif  // EXPERIMENTS_SWEEP_IMPORTED_RUNS_H_
