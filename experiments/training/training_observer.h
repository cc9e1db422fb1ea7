// What hears how training goes: the trainer itself writes and prints nothing.
#ifndef EXPERIMENTS_TRAINING_TRAINING_OBSERVER_H_
#define EXPERIMENTS_TRAINING_TRAINING_OBSERVER_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "experiments/report/progress.h"
#include "experiments/run/checkpoint.h"
#include "experiments/run/metrics_log.h"
#include "nn/evaluated_set.h"
#include "nn/forward.h"

namespace regard {

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

// Called between updates only, by one thread. It changes nothing of the
// training. An error ends the run. Observers hear of an event in the order of
// the trainer's list.
class TrainingObserver {
 public:
  virtual ~TrainingObserver() = default;

  // After every update; allocates nothing.
  virtual void Updated(const StepProgress& /*update*/) {}

  // Metrics have been measured.
  virtual absl::Status Recorded(const MetricsRecord& /*record*/) {
    return absl::OkStatus();
  }

  // After the evaluation's own record, if it has one.
  virtual absl::Status Evaluated(const EvaluatedModel& /*evaluated*/) {
    return absl::OkStatus();
  }

  // The state to resume from is complete. All records of its step came before.
  virtual absl::Status Checkpointed(const CheckpointContent& /*content*/) {
    return absl::OkStatus();
  }
};

}  // namespace regard

#endif  // EXPERIMENTS_TRAINING_TRAINING_OBSERVER_H_
