// The training loop of all tasks:
//
//   examples -> shards -> loss -> reduce -> clip -> update -> log -> evaluate
//   -> checkpoint
//
// Each thread has one tape. It adds the gradients of its shards to slabs of the
// GradientReducer.
//
// Results are bit-identical for any number of threads and ranks. A run that was
// killed and resumed is bit-identical, too, even with another number of threads
// or ranks. The ranks divide the shards of optimizer steps and the batches of
// evaluations among each other. All ranks have the same weights, state and
// metrics at every step.
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
#include "nn/hook.h"
#include "optimization/evaluated_set.h"
#include "optimization/gradient_reducer.h"
#include "optimization/interventions/configured_hook.h"
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
  // Number of a signal that requests the end of training, or 0. The trainer
  // reads this number after every optimizer step. If it is not 0, the trainer
  // saves a checkpoint and stops.
  const std::atomic<int>* stop_signal = nullptr;
  // Returns a hook for one shard of the next optimizer step, in addition to the
  // hook of the config. `step` is the number of finished optimizer steps. May
  // return null. Several threads call it at the same time, but only one thread
  // per shard.
  std::function<Hook<float>*(int64_t step, int shard)> hook = nullptr;
  // The processes that train together. Their number must fit num_shards. Null
  // for a single process.
  Ranks* ranks = nullptr;
};

// The model at an evaluation. The references are only valid during the call.
struct EvaluatedModel {
  int64_t step = 0;
  int64_t epoch = 0;
  bool final = false;
  // Metrics by name with the split as prefix.
  const std::map<std::string, double>& metrics;
  // The evaluated sets that have values per example. The names of their metrics
  // also have the split as prefix.
  const std::vector<EvaluatedSet>& sets;
  // A forward pass without gradients.
  Forward<float>& forward;
  // The gradient of the last optimizer step before clipping, in the layout
  // of the parameters. Empty if no step was made.
  absl::Span<const float> gradient;
};

// Callbacks for the progress of training. The trainer itself writes and prints
// nothing. One thread calls them between optimizer steps. They must not change
// the training. An error ends the run.
struct TrainingCallbacks {
  // Called after every optimizer step. Must not allocate.
  std::function<void(const StepMeasurements&)> updated = [](const auto&) {};
  std::function<absl::Status(const MetricsRecord&)> recorded = [](const auto&) {
    return absl::OkStatus();
  };
  // Called after an evaluation. If the evaluation has a record, `recorded` is
  // called first.
  std::function<absl::Status(const EvaluatedModel&)> evaluated =
      [](const auto&) { return absl::OkStatus(); };
  // Called with the complete state from which to resume, after all records of
  // its step.
  std::function<absl::Status(const CheckpointContent&)> checkpointed =
      [](const auto&) { return absl::OkStatus(); };
};

// Returns descriptions of the metrics that the trainer itself measures.
std::vector<MetricInfo> TrainerMetrics(const Model<float>& model);

// Whether a checkpoint was saved at the end of a run, after its last optimizer
// step. Such a checkpoint lacks the state that further steps need.
absl::StatusOr<bool> IsFinalCheckpoint(const CheckpointInfo& checkpoint);

class Trainer {
 public:
  // `config` must be valid. `config` and `task` must outlive the trainer.
  Trainer(const Experiment& config, Task& task, const Plugins& plugins,
          const TrainerOptions& options);
  ~Trainer();

  // Resumes from a checkpoint of the same config.
  absl::Status Restore(const CheckpointInfo& checkpoint);

  // Trains to the end, or until stopped, and saves a checkpoint in both cases.
  // At the end, the model has the weights that training.early_stopping,
  // training.average and training.ema_decay select. Returns the signal that
  // stopped training, or 0. Returns an error that names the operation if a loss
  // or gradient is not finite.
  absl::StatusOr<int> Run(TrainingCallbacks callbacks = {});

  // The number of optimizer steps of the whole run, if it does not end early.
  int64_t total_steps() const { return plan_.total_updates(); }

  int64_t step() const { return state_.step(); }

  // Whether training has ended. Also true after Restore() of a checkpoint from
  // the end of training.
  bool finished() const { return state_.finished(); }

  // If only the final evaluation remains, the number of records of the restored
  // step that were written before its checkpoint. In all other cases, the
  // maximum integer, because the checkpoint follows all records of its step.
  int64_t restored_records() const {
    return state_.has_records() ? state_.records()
                                : std::numeric_limits<int64_t>::max();
  }

  // The last value of each metric, by name with the split as prefix.
  const std::map<std::string, double>& metrics() const { return metrics_; }

  // Returns the digest of the last weights, even if other weights were chosen
  // at the end.
  std::string LastWeightsDigest() const;

  // Returns a profile of the steps so far. Empty unless TrainerOptions::profile
  // is set.
  std::string Profile() const;

 private:
  struct Worker;

  // Returns the signal that requests the end of training, or 0. All ranks get
  // the same result.
  int StopSignal() const;
  absl::Status Update();
  // Adds up the sums and statistics of a batch over all ranks.
  void GatherLossSumsAndStatistics();
  void ComputeShard(absl::Span<const int64_t> batch, int shard, Worker& worker,
                    GradientSlab<float>& gradients);
  absl::Span<const int64_t> ShardOf(absl::Span<const int64_t> batch,
                                    int shard) const;
  void CountPadding(absl::Span<const int64_t> batch);
  absl::Status ExplainFault(
      absl::Span<const absl::Span<const int64_t>> batches);
  absl::Status RecordMetrics(std::map<std::string, double> metrics);
  // Resets the sums of the next record.
  void ClearSums();
  // Returns the metrics of the optimizer steps since the last call.
  std::map<std::string, double> TakeTrainingMetrics();
  // Returns the statistics that the config requests, measured in the last
  // optimizer step.
  std::map<std::string, double> TakeStatistics();
  // Installs the interventions of the config in an evaluation pass.
  void SetEvaluationHook(Forward<float>& forward) const;
  absl::Status Evaluate(bool final);
  // Returns an error if a weight is not finite. An optimizer step may overflow
  // although its gradient is finite. Saving such weights would remove an older,
  // useful checkpoint.
  absl::Status CheckWeights() const;
  absl::Status Save();
  // Saves a checkpoint after the last optimizer step, unless this run was
  // resumed from it. The final evaluation may take a long time. If the run is
  // killed during this evaluation, it resumes from this checkpoint.
  absl::Status SaveBeforeFinalEvaluation();
  absl::Status RestoreSelection(const CheckpointInfo& checkpoint);
  absl::Status Finish();
  void ChooseWeights();
  bool ShouldEndEarly() const;
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
  TrainingCallbacks callbacks_;

  WorkerPool pool_;
  GradientReducer<float> reducer_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::unique_ptr<Optimizer<float>> optimizer_;
  std::unique_ptr<Schedule> schedule_;

  // The state in checkpoints, except for the fields that Save() copies from the
  // members below.
  TrainerState state_;
  int64_t evaluated_step_ = -1;  // step of the last evaluation during training
  // The number of records since the last optimizer step.
  int64_t records_of_step_ = 0;
  WeightSelection selection_;
  // The last weights, if the model currently has other weights. Otherwise
  // empty.
  std::vector<float> last_weights_;
  // Examples of the current optimizer step.
  std::vector<int64_t> examples_;
  std::vector<double> denominators_;  // one per loss term
  std::vector<double> shard_sums_;    // [shards, loss terms] for one batch
  // One hook per shard. Empty if the config requests nothing at hook points.
  // The statistics of the hooks are added in the order of batches and shards.
  std::vector<std::unique_ptr<ConfiguredHook<float>>> hooks_;
  AccumulatedStatistics statistics_;
  std::map<std::string, double> metrics_;
  absl::Time start_;
  absl::Duration update_time_;
};

}  // namespace regard

#endif  // EXPERIMENTS_TRAINING_TRAINER_H_
