// The observers of every run: the log, the examples, the progress line and the
// checkpoints.
// event_log.h tells TensorBoard.
#ifndef EXPERIMENTS_TRAINING_OBSERVERS_H_
#define EXPERIMENTS_TRAINING_OBSERVERS_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "experiments/report/progress.h"
#include "experiments/run/checkpoint.h"
#include "experiments/run/metrics_log.h"
#include "experiments/training/training_observer.h"

namespace regard {

// Writes metrics.jsonl. Comes before the checkpoints in a trainer's list: the
// records of a step are on the disk before its checkpoint is.
class LogObserver : public TrainingObserver {
 public:
  // `log` outlives this.
  explicit LogObserver(MetricsLog& log) : log_(log) {}

  absl::Status Recorded(const MetricsRecord& record) override;
  absl::Status Checkpointed(const CheckpointContent& content) override;

 private:
  MetricsLog& log_;
};

// Writes examples.jsonl at the last evaluation, which comes before the last
// checkpoint: a run that is over has it.
class ExamplesObserver : public TrainingObserver {
 public:
  explicit ExamplesObserver(std::string path) : path_(std::move(path)) {}

  absl::Status Evaluated(const EvaluatedModel& evaluated) override;

 private:
  const std::string path_;
};

// Shows every update, and a line for each evaluation but the last.
class ProgressObserver : public TrainingObserver {
 public:
  // `progress` outlives this.
  explicit ProgressObserver(Progress& progress) : progress_(progress) {}

  void Updated(const StepProgress& update) override;
  absl::Status Evaluated(const EvaluatedModel& evaluated) override;

 private:
  Progress& progress_;
};

// Saves checkpoints, and keeps the newest `keep`.
class CheckpointObserver : public TrainingObserver {
 public:
  CheckpointObserver(std::string run_folder, int keep);

  absl::Status Checkpointed(const CheckpointContent& content) override;

 private:
  const std::string run_folder_;
  const int keep_;
};

}  // namespace regard

#endif  // EXPERIMENTS_TRAINING_OBSERVERS_H_
