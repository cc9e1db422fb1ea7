// run.json: the metrics of a run and the version of the run folder's format.
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

// `training_data` contains numbers about the training data that predictions
// need.
std::string RunDescriptionJson(
    absl::Span<const MetricInfo> metrics,
    const std::map<std::string, double>& training_data = {});

// Reads the metrics from run.json in a run folder. Returns InvalidArgument if
// the text is malformed or of another version, which the message names. A
// folder without the file, but with a resolved config, has version 1. Error
// messages are complete to print.
absl::StatusOr<std::vector<MetricInfo>> ReadRunDescription(
    const std::string& run_folder);

// Reads the numbers about the training data from run.json. Empty if an earlier
// program wrote the file. Returns the same errors as ReadRunDescription().
absl::StatusOr<std::map<std::string, double>> ReadTrainingDataNumbers(
    const std::string& run_folder);

}  // namespace regard

#endif  // EXPERIMENTS_RUN_METRIC_H_
