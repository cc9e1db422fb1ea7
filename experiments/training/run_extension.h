// Resumes a run with a changed config, to train it longer.
//
// Only fields that do not affect the optimizer steps before the old end may
// change. If the schedule does not depend on the length, the extended run
// equals a run that had the new length from the start. Both end with the same
// weights and metrics.
#ifndef EXPERIMENTS_TRAINING_RUN_EXTENSION_H_
#define EXPERIMENTS_TRAINING_RUN_EXTENSION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "experiments/experiment.pb.h"
#include "experiments/run/checkpoint.h"
#include "experiments/tasks/plugins.h"
#include "optimization/model.h"

namespace regard {

// Returns the paths of the fields that may change when a run is resumed. Each
// of them leaves the earlier optimizer steps unchanged.
absl::Span<const absl::string_view> FieldsThatMayChange();

// The previous config of a run that is resumed, and the fields that have
// changed.
struct PreviousConfigAndChanges {
  Experiment before = {};
  // Paths of the changed fields. Usually empty.
  std::vector<std::string> paths = {};
};

// The numbers of optimizer steps of the whole run with the old and the new
// config, if the run does not end early.
struct StepCountChange {
  int64_t before = 0;
  int64_t now = 0;
};

StepCountChange ComputeStepCountChange(const Experiment& before,
                                       const Experiment& now,
                                       Model<float>& model);

// Returns the newest checkpoint from which the run can be trained to its new
// length. `checkpoints` must not be empty and must be sorted newest first. A
// checkpoint that ended the run at its old length is not suitable, because it
// lacks the state that further steps need. If no checkpoint is suitable,
// returns an error that can be printed as it is.
absl::StatusOr<CheckpointInfo> FindExtensibleCheckpoint(
    const std::vector<CheckpointInfo>& checkpoints,
    const PreviousConfigAndChanges& extension, StepCountChange lengths);

// Returns a note on how the new length affects the schedule after `step`
// optimizer steps, or "" if the length does not change.
std::string ScheduleNote(const Experiment& now, const Plugins& plugins,
                         int64_t step, StepCountChange lengths);

}  // namespace regard

#endif  // EXPERIMENTS_TRAINING_RUN_EXTENSION_H_
