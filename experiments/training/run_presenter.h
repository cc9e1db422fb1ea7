// Interface to what a program shows of the runs that it trains: events for
// TensorBoard while they train, and a report when they have trained. A program
// that only computes has none of this
// (docs/decisions/0021-what-computes-has-a-digest.md).
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

// Is told of a run while it trains.
class TrainingEvents {
 public:
  virtual ~TrainingEvents() = default;

  virtual absl::Status Recorded(const MetricsRecord& record) = 0;
  virtual absl::Status Evaluated(const EvaluatedModel& evaluated) = 0;
  // Says how the run ended, at its last step. A run that was interrupted has
  // not ended: leave this out.
  virtual absl::Status End(bool success, int64_t step) = 0;
};

struct StartedRun {
  const RunFolder& folder;
  std::optional<int64_t> resumed_step = {};
  int64_t total_steps;
  const Experiment& config;
  const Task& task;                      // outlives the events
  absl::Span<const MetricInfo> metrics;  // describe what is recorded
};

class RunPresenter {
 public:
  virtual ~RunPresenter() = default;

  virtual absl::StatusOr<std::unique_ptr<TrainingEvents>> BeginEvents(
      const StartedRun& run) const = 0;
  // Writes attention.json and report.html, and returns what to print.
  virtual absl::StatusOr<std::string> WriteReport(const RunFolder& folder,
                                                  RunReport report) const = 0;
};

}  // namespace regard

#endif  // EXPERIMENTS_TRAINING_RUN_PRESENTER_H_
