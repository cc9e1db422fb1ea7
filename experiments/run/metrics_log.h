// The metrics of a run: metrics.jsonl, one record a line, whose format is in
// docs/metrics_jsonl.md.
//
// A resumed run cuts its log back to the checkpoint and writes the same records
// again. Except for times, its log has the bytes of a run that was never
// stopped. For this the trainer appends all records of a step, and syncs the
// file, before it saves the checkpoint of that step.
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
  // Finished steps, at least 0; never less than in the record before.
  int64_t step = 0;
  int64_t epoch = 0;
  // By prefixed name (`dev/loss`). What is not finite reads back as NaN.
  std::map<std::string, double> metrics = {};
  // Seconds since the run began. Left out where outputs must repeat.
  std::optional<double> seconds = {};
};

// By metric and step. A run that ends with other weights than its last ones
// measures its last step twice: the last value of a step counts.
using MetricCurves = std::map<std::string, std::map<int64_t, double>>;

MetricCurves CurvesOf(absl::Span<const MetricsRecord> records);

// The record's line, with its newline.
std::string MetricsLine(const MetricsRecord& record);

// The records of a log of at most 1 GiB. A last line without a newline was torn
// by a crash and is left out; any other malformed line is an InvalidArgument,
// "PATH:LINE:COLUMN: error: PROBLEM".
absl::StatusOr<std::vector<MetricsRecord>> ReadMetricsLog(
    const std::string& path);

// Opens a log to append lines to, after a checkpoint of `step` that was saved
// after `records` records of that step, by default all: what was recorded
// later, or torn, is removed. A missing file is an empty log; one that cannot
// be read is an error, and stays as it is.
absl::StatusOr<FileWriter> ResumeMetricsLog(
    const std::string& path, int64_t step,
    FileOperations& files = SystemFiles(),
    int64_t records = std::numeric_limits<int64_t>::max());

}  // namespace regard

#endif  // EXPERIMENTS_RUN_METRICS_LOG_H_
