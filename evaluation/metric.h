// What a metric is. The task or model that measures a metric declares it once;
// reports, the terminal, TensorBoard, schedules that watch a metric and
// ablations read the declaration.
#ifndef EVALUATION_METRIC_H_
#define EVALUATION_METRIC_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace regard {

enum class Better { kNeither, kLower, kHigher };

// By the value of Better.
inline constexpr absl::string_view kBetterNames[] = {"neither", "lower",
                                                     "higher"};

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

}  // namespace regard

#endif  // EVALUATION_METRIC_H_
