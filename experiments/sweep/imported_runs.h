// Finds and imports runs of a sweep that were trained outside of its directory.
#ifndef EXPERIMENTS_SWEEP_IMPORTED_RUNS_H_
#define EXPERIMENTS_SWEEP_IMPORTED_RUNS_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "experiments/sweep/sweep_cells.h"

namespace regard {

// Finds the cells whose folders contain finished runs, and the keys of the
// runs.
absl::Status FindFinishedRuns(SweepCells& cells);

// Copies each finished run below `options.import_from` whose key is the key of
// a waiting cell. Returns the number of copied runs.
absl::StatusOr<size_t> ImportRuns(const SweepOptions& options,
                                  SweepCells& cells);

}  // namespace regard

#endif  // EXPERIMENTS_SWEEP_IMPORTED_RUNS_H_
