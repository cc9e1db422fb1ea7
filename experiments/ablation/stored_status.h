// Reads back the status.json of a run. docs/run_folder.md.
#ifndef EXPERIMENTS_ABLATION_STORED_STATUS_H_
#define EXPERIMENTS_ABLATION_STORED_STATUS_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace regard {

struct StoredStatus {
  std::string state = {};  // "finished", "failed", ...
  int64_t step = 0;
  // By prefixed name; NaN for one that was not finite.
  std::map<std::string, double> metrics = {};
  std::string weights_digest = {};
};

// InvalidArgument for a text that is no status.
absl::StatusOr<StoredStatus> ParseStatus(absl::string_view text);

// The error begins with the path.
absl::StatusOr<StoredStatus> ReadStatus(const std::string& path);

}  // namespace regard

#endif  // EXPERIMENTS_ABLATION_STORED_STATUS_H_
