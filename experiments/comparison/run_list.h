// Lists the runs below a folder: how they stand, differ, and what they reached.
#ifndef EXPERIMENTS_COMPARISON_RUN_LIST_H_
#define EXPERIMENTS_COMPARISON_RUN_LIST_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "experiments/ablation/grid.h"
#include "files/file.h"
#include "nlohmann/json_fwd.hpp"

namespace regard {

// The runs below `folder`, and it itself if it is one, sorted by path, without
// their examples; labels are paths relative to it. A run that cannot be read is
// there with the reason, GridRun::missing, and so is a folder that cannot be
// looked into. An error, complete to print, without any run, or if `folder`
// itself is such a one.
absl::StatusOr<std::vector<GridRun>> FindRuns(
    const std::string& folder, FileOperations& files = SystemFiles());

// The best first, those without the metric last. An error, complete to print,
// if no run has it.
absl::Status SortByMetric(const std::string& metric,
                          std::vector<GridRun>* runs);

// Keeps the runs whose config has the tag. An error, complete to print, if no
// run has it.
absl::Status KeepTag(const std::string& tag, std::vector<GridRun>* runs);

// The run from whose config the others differ in the fewest fields, the first
// one of several; runs without a config are not counted.
size_t TypicalRun(const std::vector<GridRun>& runs);

// Lines to print, with the first two metrics of each run, of all its tests,
// else of dev, and `metric`, unless it is empty; and all that is known, as an
// object.
std::string RunListText(const std::vector<GridRun>& runs,
                        const std::string& metric);
nlohmann::ordered_json RunListJson(const std::vector<GridRun>& runs);

}  // namespace regard

#endif  // EXPERIMENTS_COMPARISON_RUN_LIST_H_
