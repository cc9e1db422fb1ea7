// metrics.jsonl: the metrics of a run, one record per line. The format is
// described in docs/metrics_jsonl.md.
//
// A resumed run cuts its log back to the checkpoint and writes the following
// records again. Except for times, the log is bit-identical to the log of an
// uninterrupted run. To ensure this, the trainer appends all records of a step
// and syncs the file before it saves the checkpoint of that step.
#ifndef EXPERIMENTS_RUN_METRICS_LOG_H_
#define EXPERIMENTS_RUN_METRICS_LOG_H_

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "files/file.h"

namespace regard {

struct MetricsRecord {
  // The number of finished optimizer steps. At least 0, and never less than in
  // the record before.
  int64_t step = 0;
  int64_t epoch = 0;
  // Metrics by prefixed name, such as `dev/loss`. Numbers that are not finite
  // are read back as NaN.
  std::map<std::string, double> metrics = {};
  // Seconds since the start of the run. Absent if outputs must be reproducible.
  std::optional<double> seconds = {};
};

// Values by metric and step. A run that replaces its last weights at the end
// measures its last step twice; the second value is kept.
using MetricCurves = std::map<std::string, std::map<int64_t, double>>;

MetricCurves CurvesOf(absl::Span<const MetricsRecord> records);

// Returns the line of a record, including the newline.
std::string MetricsLine(const MetricsRecord& record);

// Reads the records of a log of at most 1 GiB. A last line without a newline
// was cut off by a crash and is ignored. Any other malformed line is
// InvalidArgument, "PATH:LINE:COLUMN: error: PROBLEM".
absl::StatusOr<std::vector<MetricsRecord>> ReadMetricsLog(
    const std::string& path);

// Opens a log to append lines after a checkpoint of `step`. The checkpoint was
// saved after `records` records of that step; by default, after all of them.
// Removes later records and an incomplete last line. A missing file is an empty
// log. A file that cannot be read is an error and stays unchanged.
absl::StatusOr<FileWriter> ResumeMetricsLog(
    const std::string& path, int64_t step,
    FileOperations& files = SystemFiles(),
    int64_t records = std::numeric_limits<int64_t>::max());

}  // namespace regard

#endif  // EXPERIMENTS_RUN_METRICS_LOG_H_
