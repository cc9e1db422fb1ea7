// metrics.jsonl: the numbers of a run, one record a line.
// docs/metrics_jsonl.md.
//
// A resumed run cuts its log back to the checkpoint and writes the same records
// again, so that its log ends up equal to that of a run that was never stopped,
// byte for byte (but for times). For this the trainer appends all records of a
// step, and calls Sync, before it saves the checkpoint of that step.
#ifndef EXPERIMENTS_RUN_METRICS_LOG_H_
#define EXPERIMENTS_RUN_METRICS_LOG_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "files/file.h"

namespace regard {

struct MetricsRecord {
  // Finished steps, at least 0; never less than in the record before.
  int64_t step = 0;
  int64_t epoch = 0;
  // By prefixed name (`dev/loss`). What is not finite reads back as NaN.
  std::map<std::string, double> metrics = {};
  // Seconds since the run began. Left out where outputs must repeat.
  std::optional<double> seconds = {};
};

// The record's line, with its newline.
std::string MetricsLine(const MetricsRecord& record);

// The records of a log's text. A last line without a newline was torn by a
// crash and is left out; any other malformed line is an InvalidArgument,
// "PATH:LINE:COLUMN: error: PROBLEM".
absl::StatusOr<std::vector<MetricsRecord>> ParseMetricsLog(
    absl::string_view path, absl::string_view text);

// The same from a file; a log of over 1 GiB is refused.
absl::StatusOr<std::vector<MetricsRecord>> ReadMetricsLog(
    const std::string& path);

// Appends to a log. Move-only.
class MetricsLog {
 public:
  // Starts an empty log; a file that is there is emptied. `files` outlives the
  // log.
  static absl::StatusOr<MetricsLog> Create(
      const std::string& path, FileOperations& files = SystemFiles());

  // Goes on with a log after a checkpoint of `step`: what was recorded later,
  // or torn, is removed. A missing file is an empty log; one that cannot be
  // read is an error, and stays as it is.
  static absl::StatusOr<MetricsLog> Resume(
      const std::string& path, int64_t step,
      FileOperations& files = SystemFiles());

  MetricsLog(MetricsLog&& other) noexcept;
  MetricsLog& operator=(MetricsLog&&) = delete;
  ~MetricsLog();

  // Adds one line, at once visible to readers. After an error the log ends with
  // the line before, if the disk allows even that.
  absl::Status Append(const MetricsRecord& record);

  // Puts the lines on the disk itself.
  absl::Status Sync();

 private:
  MetricsLog(std::string path, int descriptor, int64_t bytes,
             FileOperations& files);

  std::string path_;
  int descriptor_;  // -1 once moved from
  FileOperations& files_;
  int64_t bytes_;
};

}  // namespace regard

#endif  // EXPERIMENTS_RUN_METRICS_LOG_H_
