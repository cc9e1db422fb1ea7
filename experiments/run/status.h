// How a run stands: status.json, for scripts, which has the last numbers;
// metrics.jsonl, which has all, one record a line; and examples.jsonl: what a
// run made of each example of its dev and test sets. docs/run_folder.md and
// docs/metrics_jsonl.md have the formats.
//
// A resumed run cuts its log back to the checkpoint and writes the same records
// again, so that its log ends up equal to that of a run that was never stopped,
// byte for byte (but for times). For this the trainer appends all records of a
// step, and syncs the file, before it saves the checkpoint of that step.
#ifndef EXPERIMENTS_RUN_STATUS_H_
#define EXPERIMENTS_RUN_STATUS_H_

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "evaluation/statistics.h"
#include "files/file.h"
#include "optimization/evaluated_set.h"

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

// The text of examples.jsonl. Names of metrics are prefixed ("test/bleu"); the
// names of the sets are not in the file.
std::string ExamplesText(absl::Span<const EvaluatedSet> sets);

// The sets in a file, without the metrics whose aggregate is not among
// `aggregates`. InvalidArgument, "PATH:LINE:COLUMN: error: PROBLEM", for any
// other text.
absl::StatusOr<std::vector<EvaluatedSet>> ReadExamples(
    const std::string& path, const Aggregates& aggregates);

// The sets of the test split, or, if there are none, of dev.
std::vector<EvaluatedSet> FinalSets(std::vector<EvaluatedSet> sets);

}  // namespace regard

#endif  // EXPERIMENTS_RUN_STATUS_H_
