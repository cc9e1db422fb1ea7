// run.json: the version of a run folder's format, and the metrics of the run.
// docs/run_folder.md.
#ifndef EXPERIMENTS_RUN_RUN_DESCRIPTION_H_
#define EXPERIMENTS_RUN_RUN_DESCRIPTION_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "experiments/run/metric.h"

namespace regard {

// Version 1 had no run.json.
inline constexpr int kRunFormatVersion = 2;

// The file's text.
std::string RunDescriptionJson(absl::Span<const MetricInfo> metrics);

// The metrics in a file's text. InvalidArgument for another text, and for
// another version of the format, which it names.
absl::StatusOr<std::vector<MetricInfo>> ParseRunDescription(
    absl::string_view text);

// The same from `run_folder/run.json`; the error begins with the folder. A
// folder with a resolved config but without the file is of version 1.
absl::StatusOr<std::vector<MetricInfo>> ReadRunDescription(
    const std::string& run_folder);

}  // namespace regard

#endif  // EXPERIMENTS_RUN_RUN_DESCRIPTION_H_
