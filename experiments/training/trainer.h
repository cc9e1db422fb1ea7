// The one training loop, for every task:
//
//   examples -> shards -> loss -> reduce -> clip -> update -> log -> evaluate
//   -> checkpoint
//
// A thread has one tape; the gradients of its shards go to slabs of the
// GradientReducer.
//
// The same config gives the same bits for any number of threads and ranks, and
// for a run that was killed and resumed, with others of them too. Ranks share
// the shards of updates and the batches of evaluations, and all have the same
// weights, state and metrics at any step.
#ifndef EXPERIMENTS_TRAINING_TRAINER_H_
#define EXPERIMENTS_TRAINING_TRAINER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "autodiff/worker_pool.h"
#include "experiments/report/progress.h"
#include "experiments/run/checkpoint.h"
#include "experiments/run/metric.h"
#include "experiments/run/metrics_log.h"
#include "experiments/tasks/plugins.h"
#include "experiments/tasks/task.h"
#include "experiments/training/batch_plan.h"
#include "experiments/training/trainer_state.pb.h"
#include "nn/forward.h"
#include "nn/probe.h"
#include "optimization/evaluated_set.h"
#include "optimization/gradient_reducer.h"
#include "optimization/interventions/configured_probe.h"
#include "optimization/model.h"
#include "optimization/optimizer.h"
#include "optimization/ranks/ranks.h"
#include "optimization/schedule.h"
#include "optimization/weight_selection.h"

namespace regard {

class Experiment;

struct TrainerOptions {
  int threads = 1;
  bool omit_times = false;
  bool profile = false;
  // Asked after every update: a signal number to save and stop for, or 0.
  const std::atomic<int>* stop_signal = nullptr;
  // What watches a shard of the update that follows `step` finished ones,
  // beside the config's own probe; null for nothing. Called by several threads
  // at a time, for a shard by one.
  std::function<Probe<float>*(int64_t step, int shard)> probe = nullptr;
  // The processes that train together, which fit the config's num_shards; null
  // for one alone.
  Ranks* ranks = nullptr;
};

// The model at an evaluation. All that it refers to is valid during the call.
struct EvaluatedModel {
  int64_t step = 0;
  int64_t epoch = 0;
  bool final = false;
  // By prefixed name.
  const std::map<std::string, double>& metrics;
  // The metrics of which are among those, by the same names.
  const std::vector<EvaluatedSet>& sets;
  // Without gradients.
  Forward<float>& forward;
  // The gradient of the last update, before clipping, laid out as the
  // parameters; empty where nothing has been trained.
  absl::Span<const float> gradient;
};

// Who is told how training goes: the trainer itself writes and prints nothing.
// All are called between updates only, by one thread, and change nothing of the
// training. An error ends the run.
struct TrainingHooks {
  // After every update; allocates nothing.
  std::function<void(const StepProgress&)> updated = [](const auto&) {};
  std::function<absl::Status(const MetricsRecord&)> recorded = [](const auto&) {
    return absl::OkStatus();
  };
  // After the evaluation's own record, if it has one.
  std::function<absl::Status(const EvaluatedModel&)> evaluated =
      [](const auto&) { return absl::OkStatus(); };
  // The state to resume from is complete. All records of its step came before.
  std::function<absl::Status(const CheckpointContent&)> checkpointed =
      [](const auto&) { return absl::OkStatus(); };
};

// What the trainer itself measures, beside the metrics of the task.
std::vector<MetricInfo> TrainerMetrics(const Model<float>& model);

// Whether a checkpoint was saved after the last optimizer step of a run, so
// that it lacks what only further steps need.
absl::StatusOr<bool> IsOfEnd(const Checkpoint& checkpoint);

class Trainer {
 public:
  // `config` and `task` outlive the trainer; `config` is valid.
  Trainer(const Experiment& config, Task& task, const Plugins& plugins,
          const TrainerOptions& options);
  ~Trainer();

  // Resumes from a checkpoint of the same config.
  absl::Status Restore(const Checkpoint& checkpoint);

  // Trains to the end, or until stopped; saves a checkpoint at either. At the
  // end the model has the weights that training.early_stopping,
  // training.average and training.ema_decay choose. Returns the signal that
  // ended training early, or 0; or an error that names the operation if a loss
  // or gradient is not finite.
  absl::StatusOr<int> Run(TrainingHooks hooks = {});

  // Updates of the whole run, unless it ends early.
  int64_t total_steps() const { return plan_.total_updates(); }

  int64_t step() const { return state_.step(); }

  // Whether training is over, as after resuming from the last checkpoint.
  bool finished() const { return state_.finished(); }

  // Records of the restored step that came before its checkpoint, if only the
  // final evaluation is left; otherwise all.
  int64_t restored_records() const {
    return state_.has_records() ? state_.records()
                                : std::numeric_limits<int64_t>::max();
  }

  // The last value of each metric, by prefixed name.
  const std::map<std::string, double>& metrics() const { return metrics_; }

  // The digest of the last weights, even if the model has others in the end.
  std::string LastWeightsDigest() const;

  // What the steps so far were spent on; empty unless asked for.
  std::string Profile() const;

 private:
  struct Worker;

  // The signal to stop for, or 0, the same on all ranks.
  int StopSignal() const;
  absl::Status Update();
  // Makes the sums and statistics of the batch those of all ranks.
  void GatherFromRanks();
  void ComputeShard(absl::Span<const int64_t> batch, int shard, Worker& worker,
                    GradientSlab<float>& gradients);
  absl::Span<const int64_t> ShardOf(absl::Span<const int64_t> batch,
                                    int shard) const;
  void CountPadding(absl::Span<const int64_t> batch);
  absl::Status ExplainFault(
      absl::Span<const absl::Span<const int64_t>> batches);
  absl::Status Log(std::map<std::string, double> metrics);
  // Begins what the next record is a mean of.
  void ClearSums();
  // The metrics of the updates since the last call.
  std::map<std::string, double> TakeTrainingMetrics();
  // What the config wants to know of the last update's sites.
  std::map<std::string, double> TakeStatistics();
  // Makes an evaluation's pass that of the model which the config describes.
  void SetProbe(Forward<float>& forward) const;
  absl::Status Evaluate(bool final);
  // An update by a finite gradient may still overflow. Nothing opens a
  // checkpoint of such weights, for which an older one would be pruned.
  absl::Status CheckWeights() const;
  absl::Status Save();
  // Saves the last update, unless this run was resumed after it. The final
  // evaluation may be long: a run that is killed during it resumes with it.
  absl::Status SaveBeforeEnd();
  absl::Status RestoreSelection(const Checkpoint& checkpoint);
  absl::Status Finish();
  void ChooseWeights();
  bool IsOver() const;
  int64_t EpochOfStep() const;
  absl::Span<const float> last_weights() const {
    if (!last_weights_.empty()) return last_weights_;
    return model_.parameters().values();
  }

  const Experiment& config_;
  Task& task_;
  Model<float>& model_;
  const TrainerOptions options_;
  BatchPlan plan_;
  TrainingHooks hooks_;

  WorkerPool pool_;
  GradientReducer<float> reducer_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::unique_ptr<Optimizer<float>> optimizer_;
  std::unique_ptr<Schedule> schedule_;

  // As checkpoints keep it, but for what Save() adds from the members below.
  TrainerState state_;
  int64_t evaluated_step_ = -1;  // of the last evaluation during training
  int64_t records_of_step_ = 0;  // logged since the last update
  WeightSelection selection_;
  // Once the model has other weights than the last ones: those.
  std::vector<float> last_weights_;
  // The update that is being computed.
  std::vector<int64_t> examples_;
  std::vector<double> denominators_;  // of each loss term
  std::vector<double> shard_sums_;    // [shards, loss terms], of one batch
  // Of each shard; none if the config asks nothing of sites. Added in the order
  // of batches and shards.
  std::vector<std::unique_ptr<ConfiguredProbe<float>>> probes_;
  StatisticSums statistics_;
  std::map<std::string, double> metrics_;
  absl::Time start_;
  absl::Duration update_time_;
};

}  // namespace regard

#endif  // EXPERIMENTS_TRAINING_TRAINER_H_
