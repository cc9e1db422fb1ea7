// Tells TensorBoard of a run: scalars, histograms of weights and gradients,
// attention images, sample text, and the settings. docs/run_folder.md.
#ifndef EXPERIMENTS_TRAINING_EVENT_LOG_H_
#define EXPERIMENTS_TRAINING_EVENT_LOG_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "experiments/experiment.pb.h"
#include "experiments/run/metrics_log.h"
#include "experiments/run/tensorboard/event_writer.h"
#include "experiments/tasks/task.h"
#include "experiments/training/training_observer.h"
#include "files/file.h"

namespace regard {

struct EventLogOptions {
  std::string folder;  // of the event files
  // The step of the checkpoint that the run resumes from.
  std::optional<int64_t> resumed_step = {};
  int64_t total_steps = 0;
  std::function<absl::Time()> clock = absl::Now;
};

// Every record's metrics become scalars, described as the task declares them.
// A picture of the model is taken at an evaluation, but at most about
// kMostPictures in a run: some runs evaluate after each of many short epochs.
class EventLog : public TrainingObserver {
 public:
  static constexpr int64_t kMostPictures = 20;

  // Begins an event file with the settings of `config`. `task` outlives this.
  static absl::StatusOr<std::unique_ptr<EventLog>> Open(
      const EventLogOptions& options, const Experiment& config,
      const Task& task);

  absl::Status Recorded(const MetricsRecord& record) override;
  absl::Status Evaluated(const EvaluatedModel& evaluated) override;

  // Says how the run ended, at its last step. One that was interrupted has not
  // ended: leave this out.
  absl::Status End(bool success, int64_t step);

 private:
  EventLog(const EventLogOptions& options, const Task& task)
      : options_(options), task_(task) {}

  absl::Status AddHistograms(const EvaluatedModel& evaluated);
  absl::Status AddShowcase(int64_t step, const Showcase& showcase);
  int64_t PictureOf(int64_t step) const;

  const EventLogOptions options_;
  const Task& task_;
  FileOperations files_;
  std::optional<tensorboard::EventWriter> writer_;
  int64_t last_picture_ = 0;
  std::set<std::string> described_;  // tags
};

}  // namespace regard

#endif  // EXPERIMENTS_TRAINING_EVENT_LOG_H_
