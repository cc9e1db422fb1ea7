// Checks metrics against bounds, such as "test/exact_match >= 0.95", and
// against published numbers.
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

  // Whether `value` satisfies the bound. False for NaN.
  bool Holds(double value) const;
};

// Parses a bound: a metric, a relation and a number. Returns InvalidArgument
// for any other text.
absl::StatusOr<MetricBound> ParseBound(absl::string_view text);

// Adds a problem for each incomplete claim, at its path.
void ValidateClaims(const Claims& claims, ConfigProblems& problems);

// Returns a table with one row for each valid claim: statement, source,
// published number, Regard's number, and verdict. `runs` is keyed by the label
// of the experiment. The verdict is "confirmed" or "not confirmed". If Regard
// has no number, the verdict is "not run", "no such metric" or "run failed".
Table ClaimsTable(const Claims& claims,
                  const std::map<std::string, RunStatus>& runs);

}  // namespace regard

#endif  // EXPERIMENTS_ABLATION_EXPECTATIONS_H_
