// Declares metrics. The task or model that measures a metric declares it once.
// Reports, the terminal, TensorBoard, schedules that depend on a metric, and
// ablations use the declaration.
#ifndef EVALUATION_METRIC_H_
#define EVALUATION_METRIC_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace regard {

enum class Better { kNeither, kLower, kHigher };

// The names of the values of Better.
inline constexpr absl::string_view kBetterNames[] = {"neither", "lower",
                                                     "higher"};

struct MetricInfo {
  std::string name;     // name without the prefix of the split: "exact_match"
  std::string unit;     // "nats per token"; empty for a fraction or a score
  std::string meaning;  // a phrase such as "share of outputs that are right"
  Better better = Better::kNeither;
  // Whether the curve of the metric has a logarithmic axis.
  bool logarithmic = false;
};

// Returns the metric with this name ("test/bleu" or "bleu"), or null.
const MetricInfo* FindMetric(absl::Span<const MetricInfo> metrics,
                             absl::string_view name);

// Returns the meaning, unit and better direction: "cross-entropy (nats per
// token); lower is better".
std::string MetricDescription(const MetricInfo& metric);

}  // namespace regard

#endif  // EVALUATION_METRIC_H_
