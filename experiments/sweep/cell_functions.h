// Functions of `regard train` that a sweep calls: reading data and training.
#ifndef EXPERIMENTS_SWEEP_CELL_FUNCTIONS_H_
#define EXPERIMENTS_SWEEP_CELL_FUNCTIONS_H_

#include "experiments/sweep/sweep_cells.h"
#include "experiments/tasks/plugins.h"

namespace regard {

// Returns functions that use `plugins`, which must outlive the result.
CellFunctions MakeCellFunctions(const Plugins& plugins);

}  // namespace regard

#endif  // EXPERIMENTS_SWEEP_CELL_FUNCTIONS_H_
