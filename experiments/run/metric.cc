#include "experiments/run/metric.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace regard {

const MetricInfo* FindMetric(absl::Span<const MetricInfo> metrics,
                             absl::string_view name) {
  const size_t slash = name.rfind('/');
  if (slash != absl::string_view::npos) name.remove_prefix(slash + 1);
  const auto found =
      std::find_if(metrics.begin(), metrics.end(),
                   [&](const MetricInfo& m) { return m.name == name; });
  return found == metrics.end() ? nullptr : &*found;
}

std::string MetricDescription(const MetricInfo& metric) {
  std::string text = metric.meaning;
  if (!metric.unit.empty()) absl::StrAppend(&text, " (", metric.unit, ")");
  if (metric.better != Better::kNeither) {
    absl::StrAppend(&text, "; ",
                    metric.better == Better::kLower ? "lower" : "higher",
                    " is better");
  }
  return text;
}

std::string FormatMetric(double value) {
  // Beyond this, doubles do not hold every whole number.
  constexpr double kExactWholes = 1e15;
  if (value == std::floor(value) && std::abs(value) < kExactWholes) {
    return absl::StrFormat("%.0f", value);
  }
  return absl::StrFormat("%.4g", value);
}

}  // namespace regard
