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
// by path. Does not read their examples. Labels are relative paths. For a run
// or folder that cannot be read, ComparedRun::missing states the reason. If
// there is no run, or if `folder` itself cannot be read, returns an error that
// can be printed as it is.
absl::StatusOr<std::vector<ComparedRun>> FindRuns(
    const std::string& folder, FileOperations& files = SystemFiles());

// Sorts the runs by a metric, best first. Runs without the metric come last. If
// no run has the metric, returns an error that can be printed as it is.
absl::Status SortByMetric(const std::string& metric,
                          std::vector<ComparedRun>* runs);

// Removes the runs whose config does not have the tag. If no run has this tag,
// returns an error that can be printed as it is.
absl::Status FilterByTag(const std::string& tag,
                         std::vector<ComparedRun>* runs);

// Returns the index of the run whose config has the fewest differences from the
// configs of the other runs. Returns the first of several such runs. Ignores
// runs without a config.
size_t TypicalRun(const std::vector<ComparedRun>& runs);

// RunListText() returns lines to print, and RunListJson() all data as a JSON
// object. The lines show the first two metrics of each run on all test splits,
// or on dev if there is no test split. They also show `metric` if it is not
// empty.
std::string RunListText(const std::vector<ComparedRun>& runs,
                        const std::string& metric);
nlohmann::ordered_json RunListJson(const std::vector<ComparedRun>& runs);

}  // namespace regard

#endif  // EXPERIMENTS_COMPARISON_RUN_LIST_H_
