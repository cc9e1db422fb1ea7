// Who wants to hear how training goes, besides metrics.jsonl.
#ifndef EXPERIMENTS_TRAINING_OBSERVER_H_
#define EXPERIMENTS_TRAINING_OBSERVER_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "nn/forward.h"

namespace regard {

// The model at an evaluation. All that it refers to is valid during the call.
struct EvaluatedModel {
  int64_t step = 0;
  bool final = false;
  // Without gradients.
  Forward<float>& forward;
  // Of the last update, before clipping, laid out as the parameters; empty
  // where nothing has been trained.
  absl::Span<const float> gradient;
};

// Called between updates only, so that it may take time and memory; it changes
// nothing of the training. An error ends the run.
class TrainingObserver {
 public:
  virtual ~TrainingObserver() = default;

  // A record has been appended to metrics.jsonl.
  virtual absl::Status Recorded(
      int64_t step, const std::map<std::string, double>& metrics) = 0;

  // After the evaluation's own record, if it has one.
  virtual absl::Status Evaluated(const EvaluatedModel& evaluated) = 0;
};

}  // namespace regard

#endif  // EXPERIMENTS_TRAINING_OBSERVER_H_
