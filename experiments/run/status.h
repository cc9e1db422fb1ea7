// The state of a run and its last numbers, for scripts: status.json, whose
// format is in docs/run_folder.md.
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
  // Finished steps.
  int64_t step = 0;
  // The last value of each metric, by its prefixed name.
  std::map<std::string, double> metrics = {};
  // See WeightsDigest; empty until the run ends.
  std::string weights_digest = {};
  // How metrics computed in several ways are computed, by name; may be empty.
  std::map<std::string, std::string> signatures = {};
  // How much metrics depend on the examples, by name; may be empty.
  std::map<std::string, Confidence> confidence = {};
};

// The file's text: keys in the order of the fields, metrics by name, on one
// line; numbers that JSON lacks are null.
std::string StatusJson(const RunStatus& status);

// Replaces `run_folder/status.json` atomically.
absl::Status WriteStatus(const std::string& run_folder,
                         const RunStatus& status);

absl::string_view StateName(RunState state);

// The status in a file, without confidences, NaN for a metric that is not
// finite. Errors are complete to print.
absl::StatusOr<RunStatus> ReadStatus(const std::string& path);

}  // namespace regard

#endif  // EXPERIMENTS_RUN_STATUS_H_
