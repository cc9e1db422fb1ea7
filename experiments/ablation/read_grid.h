// Reads the results of a grid's runs.
#ifndef EXPERIMENTS_ABLATION_READ_GRID_H_
#define EXPERIMENTS_ABLATION_READ_GRID_H_

#include <string>

#include "absl/status/statusor.h"
#include "experiments/ablation/grid.h"

namespace regard {

// Reads the description that the build rule `ablation` writes (JSON), and the
// files that it names. A run that failed, or whose files cannot be read, is in
// the grid with the reason; only a bad description is an error.
absl::StatusOr<Grid> ReadGrid(const std::string& path);

}  // namespace regard

#endif  // EXPERIMENTS_ABLATION_READ_GRID_H_
