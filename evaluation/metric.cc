#include "evaluation/metric.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"

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
                    kBetterNames[static_cast<size_t>(metric.better)],
                    " is better");
  }
  return text;
}

}  // namespace regard
