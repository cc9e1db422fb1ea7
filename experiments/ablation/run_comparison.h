// Says how two runs differ, in their configs and in their numbers.
#ifndef EXPERIMENTS_ABLATION_RUN_COMPARISON_H_
#define EXPERIMENTS_ABLATION_RUN_COMPARISON_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "experiments/config/resolved.h"
#include "experiments/run/status.h"

namespace regard {

// A run as its folder tells of it.
struct StoredRun {
  std::vector<ResolvedField> config = {};
  RunStatus status = {};
};

// Reads resolved.textproto and status.json. The error names the file.
absl::StatusOr<StoredRun> ReadStoredRun(const std::string& folder);

// Lines to print: each field that differs as "before -> after", then each
// metric with its change, then whether the weights are equal bit for bit. What
// only one run has is said to be missing from the other.
std::string RunComparisonText(const StoredRun& before, const StoredRun& after);

}  // namespace regard

#endif  // EXPERIMENTS_ABLATION_RUN_COMPARISON_H_
