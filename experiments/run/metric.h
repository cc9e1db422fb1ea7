// What a metric is. The task or model that measures a metric declares it once;
// reports, the terminal, TensorBoard, schedules that watch a metric and
// ablations read the declaration. run.json lists the metrics of a run and has
// the version of its folder's format: docs/run_folder.md.
#ifndef EXPERIMENTS_RUN_METRIC_H_
#define EXPERIMENTS_RUN_METRIC_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace regard {

enum class Better { kNeither, kLower, kHigher };

struct MetricInfo {
  std::string name;     // without the split's prefix: "exact_match"
  std::string unit;     // "nats per token"; empty for a share or a score
  std::string meaning;  // "share of outputs that are right"
  Better better = Better::kNeither;
  // Whether its curve is drawn on a logarithmic axis.
  bool logarithmic = false;
};

// The metric that `name` ("test/bleu", or "bleu") is of; null if there is none.
const MetricInfo* FindMetric(absl::Span<const MetricInfo> metrics,
                             absl::string_view name);

// Meaning, unit and better direction in a line: "cross-entropy (nats per
// token); lower is better".
std::string MetricDescription(const MetricInfo& metric);

std::string RunDescriptionJson(absl::Span<const MetricInfo> metrics);

// The metrics in run.json of a run's folder. An InvalidArgument for another
// text, and for another version of the format, which it names; a folder with a
// resolved config but without the file is of version 1. Errors are complete to
// print.
absl::StatusOr<std::vector<MetricInfo>> ReadRunDescription(
    const std::string& run_folder);

}  // namespace regard

#endif  // EXPERIMENTS_RUN_METRIC_H_
