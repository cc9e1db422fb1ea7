// Writes TensorBoard events of a run: scalars, histograms of weights and
// gradients, attention images, sample text and settings. See
// docs/run_folder.md.
#ifndef EXPERIMENTS_TRAINING_EVENT_LOG_H_
#define EXPERIMENTS_TRAINING_EVENT_LOG_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "evaluation/metric.h"
#include "experiments/run/metrics_log.h"
#include "experiments/tasks/task.h"
#include "experiments/training/run_presenter.h"
#include "experiments/training/trainer.h"
#include "files/tensorboard/event_writer.h"

namespace regard {

class Experiment;

// Writes the metrics of every record as scalars, with their descriptions. Also
// writes histograms and images of the model, but only at about kMaxPictures
// evaluations, because a run may evaluate after each of many short epochs.
class EventLog : public TrainingEvents {
 public:
  static constexpr int64_t kMaxPictures = 20;

  // Creates an event file and writes the settings of `config`. The run has
  // `total_steps` optimizer steps. `task` must outlive this object. `metrics`
  // describes the metrics of the records.
  static absl::StatusOr<EventLog> Open(
      const tensorboard::EventWriterOptions& options, int64_t total_steps,
      const Experiment& config, const Task& task,
      absl::Span<const MetricInfo> metrics);

  absl::Status OnMetrics(const MetricsRecord& record) override;
  absl::Status OnEvaluation(const EvaluatedModel& evaluated) override;
  absl::Status End(bool success, int64_t step) override;

 private:
  EventLog(const tensorboard::EventWriterOptions& options,
           tensorboard::EventWriter writer, int64_t total_steps,
           const Task& task, absl::Span<const MetricInfo> metrics);

  int64_t PictureIndex(int64_t step) const;

  std::function<absl::Time()> clock_;
  tensorboard::EventWriter writer_;
  int64_t total_steps_;
  const Task& task_;
  std::vector<MetricInfo> metrics_;
  int64_t last_picture_;
};

}  // namespace regard

#endif  // EXPERIMENTS_TRAINING_EVENT_LOG_H_
