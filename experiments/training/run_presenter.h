// Interface for presenting the runs that a program trains: TensorBoard events
// during training, and a report afterwards. Programs that only compute have no
// presenter (docs/decisions/0021-what-computes-has-a-digest.md).
#ifndef EXPERIMENTS_TRAINING_RUN_PRESENTER_H_
#define EXPERIMENTS_TRAINING_RUN_PRESENTER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "evaluation/metric.h"
#include "experiments/report/reported_run.h"
#include "experiments/run/metrics_log.h"
#include "experiments/run/run_folder.h"
#include "experiments/tasks/task.h"
#include "experiments/training/trainer.h"

namespace regard {

class Experiment;

// Receives the records and evaluations of a run during training.
class TrainingEvents {
 public:
  virtual ~TrainingEvents() = default;

  virtual absl::Status OnMetrics(const MetricsRecord& record) = 0;
  virtual absl::Status OnEvaluation(const EvaluatedModel& evaluated) = 0;
  // Records the result of the run at its last step. Not called if the run is
  // interrupted, because it can be resumed.
  virtual absl::Status End(bool success, int64_t step) = 0;
};

struct StartedRun {
  const RunFolder& folder;
  std::optional<int64_t> resumed_step = {};
  int64_t total_steps;
  const Experiment& config;
  const Task& task;                      // outlives the events
  absl::Span<const MetricInfo> metrics;  // describes the metrics of the records
};

class RunPresenter {
 public:
  virtual ~RunPresenter() = default;

  virtual absl::StatusOr<std::unique_ptr<TrainingEvents>> BeginEvents(
      const StartedRun& run) const = 0;
  // Writes attention.json and report.html, and returns the text for the
  // terminal.
  virtual absl::StatusOr<std::string> WriteReportAndGetText(
      const RunFolder& folder, ReportedRun report) const = 0;
};

}  // namespace regard

#endif  // EXPERIMENTS_TRAINING_RUN_PRESENTER_H_
