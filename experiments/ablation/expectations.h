// What metrics are expected to be: bounds, such as "test/exact_match >= 0.95",
// and published numbers.
#ifndef EXPERIMENTS_ABLATION_EXPECTATIONS_H_
#define EXPERIMENTS_ABLATION_EXPECTATIONS_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "experiments/report/run_results.h"
#include "experiments/run/status.h"
#include "options/config_problems.h"

namespace regard {

class Claims;

struct MetricBound {
  std::string metric = {};
  std::string relation = {};  // <, <=, >, >= or ==
  double limit = 0;

  // False for a value that is NaN.
  bool Holds(double value) const;
};

// Parses three words; InvalidArgument for anything else.
absl::StatusOr<MetricBound> ParseBound(absl::string_view text);

// Notes claims that say too little, at their paths.
void ValidateClaims(const Claims& claims, ConfigProblems& problems);

// A row for each valid claim: what, source, theirs, ours, verdict. `runs` are
// by the label of the experiment. The verdict is "confirmed", "not confirmed",
// or why there is none: "not run", "no such metric", "run failed".
Table ClaimsTable(const Claims& claims,
                  const std::map<std::string, RunStatus>& runs);

}  // namespace regard

#endif  // EXPERIMENTS_ABLATION_EXPECTATIONS_H_
