// A run that is resumed with another config, to be trained longer.
//
// Only fields that change no optimizer step before the old end may change. So
// an extended run ends with the same weights and metrics as a run that had the
// new length from the start, if its schedule does not depend on the length.
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

// The paths that may differ between a run's config and the one that resumes it.
absl::Span<const absl::string_view> FieldsThatMayChange();

// The configs of a run before and after it is resumed.
struct RunExtension {
  Experiment before = {};
  std::vector<std::string> paths = {};  // in which they differ; usually none
};

// The optimizer steps of the whole run, unless it ends early.
struct RunLengths {
  int64_t before = 0;
  int64_t now = 0;
};

RunLengths LengthsOf(const Experiment& before, const Experiment& now,
                     Model<float>& model);

// The newest of a run's checkpoints, of which there is one and which are sorted
// newest first, from which it can be trained to its new length: not a
// checkpoint of its old end, which lacks what only further steps need. An
// error, complete to print, if there is none.
absl::StatusOr<Checkpoint> ExtensibleCheckpoint(
    const std::vector<Checkpoint>& checkpoints, const RunExtension& extension,
    RunLengths lengths);

// Says what the schedule makes of the new length after `step` optimizer steps;
// empty if the length stays.
std::string ScheduleNote(const Experiment& now, const Plugins& plugins,
                         int64_t step, RunLengths lengths);

}  // namespace regard

#endif  // EXPERIMENTS_TRAINING_RUN_EXTENSION_H_
