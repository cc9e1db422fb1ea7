// metrics.jsonl: the metrics of a run, one record per line. The format is
// described in docs/metrics_jsonl.md.
//
// A resumed run removes the records after its checkpoint from the log and
// writes them again. Except for times, its log is bit-identical to the log of
// an uninterrupted run. To ensure this, the trainer appends all records of a
// step and syncs the file before it saves the checkpoint of that step.
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
  // The number of finished optimizer steps. At least 0, and at least the step
  // of the previous record.
  int64_t step = 0;
  int64_t epoch = 0;
  // Metrics by name with the split as prefix, such as `dev/loss`. A number that
  // is not finite becomes NaN when the log is read.
  std::map<std::string, double> metrics = {};
  // Seconds since the start of the run. Absent if outputs must be reproducible.
  std::optional<double> seconds = {};
};

// Values by metric and step. A run that replaces its last weights at the end
// measures its last step twice. In this case, the second value is kept.
using MetricCurves = std::map<std::string, std::map<int64_t, double>>;

MetricCurves CurvesOf(absl::Span<const MetricsRecord> records);

// Returns the line of a record, including the newline.
std::string MetricsLine(const MetricsRecord& record);

// Reads the records of a log of at most 1 GiB. A last line without a newline
// was cut off by a crash and is ignored. Any other malformed line is an
// InvalidArgument error with the message "PATH:LINE:COLUMN: error: PROBLEM".
absl::StatusOr<std::vector<MetricsRecord>> ReadMetricsLog(
    const std::string& path);

// Opens a log to append records after a checkpoint of `step`. The checkpoint
// was saved after `records` records of this step, by default after all of them.
// Removes later records and an incomplete last line. Makes an empty log if
// there is no file. If the file cannot be read, returns an error and leaves the
// file unchanged.
absl::StatusOr<FileWriter> ResumeMetricsLog(
    const std::string& path, int64_t step,
    FileOperations& files = SystemFiles(),
    int64_t records = std::numeric_limits<int64_t>::max());

}  // namespace regard

#endif  // EXPERIMENTS_RUN_METRICS_LOG_H_
