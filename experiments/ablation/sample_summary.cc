#include "experiments/ablation/sample_summary.h"

#include <cmath>
#include <limits>

namespace regard {

SampleSummary Summarize(absl::Span<const double> values) {
  SampleSummary summary;
  summary.n = static_cast<int>(values.size());
  summary.mean = std::numeric_limits<double>::quiet_NaN();
  summary.standard_deviation = summary.mean;
  if (values.empty()) return summary;
  double sum = 0;
  for (const double value : values) sum += value;
  summary.mean = sum / summary.n;
  if (summary.n < 2) return summary;
  double squares = 0;
  for (const double value : values) {
    squares += (value - summary.mean) * (value - summary.mean);
  }
  summary.standard_deviation = std::sqrt(squares / (summary.n - 1));
  return summary;
}

}  // namespace regard
