// metrics.jsonl: the numbers of a run, one record a line.
// docs/metrics_jsonl.md.
//
// A resumed run cuts its log back to the checkpoint and writes the same records
// again, so that its log ends up equal to that of a run that was never stopped,
// byte for byte (but for times). For this the trainer appends all records of a
// step, and syncs the file, before it saves the checkpoint of that step.
#ifndef EXPERIMENTS_RUN_METRICS_LOG_H_
#define EXPERIMENTS_RUN_METRICS_LOG_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
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

// The records of a log of at most 1 GiB. A last line without a newline was torn
// by a crash and is left out; any other malformed line is an InvalidArgument,
// "PATH:LINE:COLUMN: error: PROBLEM".
absl::StatusOr<std::vector<MetricsRecord>> ReadMetricsLog(
    const std::string& path);

// Opens a log to append lines to, after a checkpoint of `step`: what was
// recorded later, or torn, is removed. A missing file is an empty log; one that
// cannot be read is an error, and stays as it is.
absl::StatusOr<FileWriter> ResumeMetricsLog(
    const std::string& path, int64_t step,
    FileOperations& files = SystemFiles());

}  // namespace regard

#endif  // EXPERIMENTS_RUN_METRICS_LOG_H_
