// run.json: the metrics of a run, and the version of its folder's format. See
// docs/run_folder.md.
#ifndef EXPERIMENTS_RUN_METRIC_H_
#define EXPERIMENTS_RUN_METRIC_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "evaluation/metric.h"

namespace regard {

// `training_data`: numbers about the training data that later use needs.
std::string RunDescriptionJson(
    absl::Span<const MetricInfo> metrics,
    const std::map<std::string, double>& training_data = {});

// The metrics in run.json of a run's folder. An InvalidArgument for another
// text, and for another version of the format, which it names; a folder with a
// resolved config but without the file is of version 1. Errors are complete to
// print.
absl::StatusOr<std::vector<MetricInfo>> ReadRunDescription(
    const std::string& run_folder);

// The numbers of the same file about the training data; none where an earlier
// program wrote it. The same errors.
absl::StatusOr<std::map<std::string, double>> ReadTrainingDataNumbers(
    const std::string& run_folder);

}  // namespace regard

#endif  // EXPERIMENTS_RUN_METRIC_H_
