// Bounds on metrics, such as "test/exact_match >= 0.95".
#ifndef EXPERIMENTS_ABLATION_BOUNDS_H_
#define EXPERIMENTS_ABLATION_BOUNDS_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace regard {

struct MetricBound {
  std::string metric = {};
  std::string relation = {};  // <, <=, >, >= or ==
  double limit = 0;

  // False for a value that is NaN.
  bool Holds(double value) const;
};

// Parses three words; InvalidArgument for anything else.
absl::StatusOr<MetricBound> ParseBound(absl::string_view text);

}  // namespace regard

#endif  // EXPERIMENTS_ABLATION_BOUNDS_H_
