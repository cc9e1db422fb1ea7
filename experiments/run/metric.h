// What a metric is. Who measures it declares it once; reports, the terminal,
// TensorBoard, schedules that watch a metric and ablations read the
// declaration.
#ifndef EXPERIMENTS_RUN_METRIC_H_
#define EXPERIMENTS_RUN_METRIC_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "nn/model.h"

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

// A metric together with how it is computed from what an evaluation found.
template <typename Results>
struct Metric {
  MetricInfo info;
  double (*compute)(const Results& results);
};

// The declarations of a list of metrics.
template <typename Results>
std::vector<MetricInfo> InfosOf(absl::Span<const Metric<Results>> metrics) {
  std::vector<MetricInfo> infos;
  for (const Metric<Results>& metric : metrics) infos.push_back(metric.info);
  return infos;
}

// Appends every metric of `results`.
template <typename Results>
void Measure(absl::Span<const Metric<Results>> metrics, const Results& results,
             std::vector<Measurement>* measurements) {
  for (const Metric<Results>& metric : metrics) {
    measurements->push_back({metric.info.name, metric.compute(results)});
  }
}

// The metric that `name` ("test/bleu", or "bleu") is of; null if there is none.
const MetricInfo* FindMetric(absl::Span<const MetricInfo> metrics,
                             absl::string_view name);

// Meaning, unit and better direction in a line: "cross-entropy (nats per
// token); lower is better".
std::string MetricDescription(const MetricInfo& metric);

// At most four significant digits, whole numbers in full: "0.9871", "1234",
// "1.2e-05", "nan".
std::string FormatMetric(double value);

}  // namespace regard

#endif  // EXPERIMENTS_RUN_METRIC_H_
