// status.json: the state of a run and its last metrics, for scripts. The format
// is described in docs/run_folder.md.
#ifndef EXPERIMENTS_RUN_STATUS_H_
#define EXPERIMENTS_RUN_STATUS_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "evaluation/statistics.h"

namespace regard {

enum class RunState { kRunning, kFinished, kInterrupted, kFailed };

struct RunStatus {
  RunState state = RunState::kRunning;
  // The number of finished optimizer steps.
  int64_t step = 0;
  // The last value of each metric, by name with the split as prefix.
  std::map<std::string, double> metrics = {};
  // The digest of the weights; see WeightsDigest(). Empty until the run ends.
  std::string weights_digest = {};
  // Signatures of metrics that have several definitions, by metric. May be
  // empty.
  std::map<std::string, std::string> signatures = {};
  // Confidence intervals of metrics over examples, by metric. May be empty.
  std::map<std::string, ConfidenceInterval> confidence = {};
};

// Returns the text of the file, which is one line. The keys are in the order of
// the fields, and metrics are sorted by name. Numbers that are not finite
// become null.
std::string StatusJson(const RunStatus& status);

// Replaces `run_folder/status.json` atomically.
absl::Status WriteStatus(const std::string& run_folder,
                         const RunStatus& status);

absl::string_view StateName(RunState state);

// Reads a status without its confidence intervals. Metrics that are not finite
// become NaN. Error messages can be printed as they are.
absl::StatusOr<RunStatus> ReadStatus(const std::string& path);

}  // namespace regard

#endif  // EXPERIMENTS_RUN_STATUS_H_
