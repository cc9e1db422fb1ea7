// Lists the runs below a folder, with their states, metrics and differences.
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

// Returns the runs below `folder`, and `folder` itself if it is a run, sorted
// by path. Their examples are not read, and labels are relative paths. For a
// run or folder that cannot be read, GridRun::missing states the reason.
// Returns an error, complete to print, if there is no run, or if `folder`
// itself cannot be read.
absl::StatusOr<std::vector<GridRun>> FindRuns(
    const std::string& folder, FileOperations& files = SystemFiles());

// Sorts the runs by a metric, best first. Runs without the metric come last.
// Returns an error, complete to print, if no run has it.
absl::Status SortByMetric(const std::string& metric,
                          std::vector<GridRun>* runs);

// Removes the runs whose config does not have the tag. Returns an error,
// complete to print, if no run has it.
absl::Status KeepTag(const std::string& tag, std::vector<GridRun>* runs);

// Returns the index of the run from whose config the others differ in the
// fewest fields. Returns the first of several, and ignores runs without a
// config.
size_t TypicalRun(const std::vector<GridRun>& runs);

// Return lines to print, and all data as a JSON object. The lines show the
// first two metrics of each run on all test splits, or on dev if there is no
// test. They also show `metric` if it is not empty.
std::string RunListText(const std::vector<GridRun>& runs,
                        const std::string& metric);
nlohmann::ordered_json RunListJson(const std::vector<GridRun>& runs);

}  // namespace regard

#endif  // EXPERIMENTS_COMPARISON_RUN_LIST_H_
