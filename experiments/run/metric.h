// run.json: the metrics of a run, and the version of the format of its folder.
// See docs/run_folder.md.
#ifndef EXPERIMENTS_RUN_METRIC_H_
#define EXPERIMENTS_RUN_METRIC_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "evaluation/metric.h"

namespace regard {

// Returns the text of run.json. `training_data` contains the numbers about the
// training data that predictions need, by name.
std::string RunDescriptionJson(
    absl::Span<const MetricInfo> metrics,
    const std::map<std::string, double>& training_data = {});

// Reads the metrics from run.json in a run folder. Returns InvalidArgument if
// the text is malformed or has an unsupported version. The message states the
// version. A folder without the file but with a resolved config has version 1.
// Error messages can be printed as they are.
absl::StatusOr<std::vector<MetricInfo>> ReadRunDescription(
    const std::string& run_folder);

// Reads the numbers about the training data from run.json. Empty if an earlier
// version wrote the file. Returns the errors of ReadRunDescription().
absl::StatusOr<std::map<std::string, double>> ReadTrainingDataNumbers(
    const std::string& run_folder);

}  // namespace regard

#endif  // EXPERIMENTS_RUN_METRIC_H_
