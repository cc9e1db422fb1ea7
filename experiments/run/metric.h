// run.json: the metrics of a run, and the version of its folder's format. See
// docs/run_folder.md.
#ifndef EXPERIMENTS_RUN_METRIC_H_
#define EXPERIMENTS_RUN_METRIC_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "nn/metric.h"

namespace regard {

std::string RunDescriptionJson(absl::Span<const MetricInfo> metrics);

// The metrics in run.json of a run's folder. An InvalidArgument for another
// text, and for another version of the format, which it names; a folder with a
// resolved config but without the file is of version 1. Errors are complete to
// print.
absl::StatusOr<std::vector<MetricInfo>> ReadRunDescription(
    const std::string& run_folder);

}  // namespace regard

#endif  // EXPERIMENTS_RUN_METRIC_H_
