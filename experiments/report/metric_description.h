// Says in words what a metric's name means.
#ifndef EXPERIMENTS_REPORT_METRIC_DESCRIPTION_H_
#define EXPERIMENTS_REPORT_METRIC_DESCRIPTION_H_

#include <string>

#include "absl/strings/string_view.h"

namespace regard {

// For "test/exact_match": "share of sentences translated word for word". Looks
// at what follows the last slash; empty for a name it does not know.
absl::string_view MetricDescription(absl::string_view name);

// At most four significant digits, whole numbers in full, as a reader of a
// table wants them: "0.9871", "1234", "1.2e-05", "nan".
std::string FormatMetric(double value);

}  // namespace regard

#endif  // EXPERIMENTS_REPORT_METRIC_DESCRIPTION_H_
