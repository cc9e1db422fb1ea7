#include "experiments/training/run_extension.h"

#include <algorithm>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "experiments/training/batch_plan.h"
#include "experiments/training/trainer.h"
#include "optimization/schedule.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {
namespace {

constexpr absl::string_view kMaxMinutes = "training.max_minutes";

// The fields that set the length of training, the interval of its records, and
// the interval and number of its checkpoints.
constexpr absl::string_view kMayChange[] = {"training.epochs",
                                            "training.max_updates",
                                            kMaxMinutes,
                                            "training.log_every",
                                            "training.checkpoint_every",
                                            "training.keep_checkpoints"};

// The maximum number of steps at which two schedules are compared.
constexpr int64_t kMaxSteps = 1000;

std::unique_ptr<Schedule> MakeSchedule(const Experiment& config,
                                       const Plugins& plugins,
                                       int64_t total_updates) {
  return plugins.schedules.Create(
      config.optimizer().schedule(),
      {.learning_rate = config.optimizer().learning_rate(),
       .total_updates = total_updates});
}

}  // namespace

absl::Span<const absl::string_view> FieldsThatMayChange() { return kMayChange; }

StepCountChange ComputeStepCountChange(const Experiment& before,
                                       const Experiment& now,
                                       Model<float>& model) {
  return {.before = BatchPlan(before, model).total_updates(),
          .now = BatchPlan(now, model).total_updates()};
}

absl::StatusOr<CheckpointInfo> FindExtensibleCheckpoint(
    const std::vector<CheckpointInfo>& checkpoints,
    const PreviousConfigAndChanges& extension, StepCountChange lengths) {
  const CheckpointInfo& newest = checkpoints.front();
  const bool more_time = newest.step < lengths.now &&
                         std::ranges::count(extension.paths, kMaxMinutes) > 0;
  if (lengths.before == lengths.now && !more_time) return newest;
  for (const CheckpointInfo& checkpoint : checkpoints) {
    if (checkpoint.step >= std::min(lengths.before, lengths.now)) continue;
    REGARD_ASSIGN_OR_RETURN(const bool is_of_end,
                            IsFinalCheckpoint(checkpoint));
    if (!is_of_end) return checkpoint;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      newest.path, ": error: ends the run at step ", lengths.before,
      ", and no earlier checkpoint is left from which it can be trained to "
      "step ",
      lengths.now,
      "; train a new run with training.initial_weights, or keep more "
      "checkpoints "
      "by training.keep_checkpoints and training.checkpoint_every"));
}

std::string ScheduleNote(const Experiment& now, const Plugins& plugins,
                         int64_t step, StepCountChange lengths) {
  if (lengths.before == lengths.now) return "";
  const std::unique_ptr<Schedule> old_schedule =
      MakeSchedule(now, plugins, lengths.before);
  const std::unique_ptr<Schedule> schedule =
      MakeSchedule(now, plugins, lengths.now);
  std::string note = absl::StrFormat(
      "the run now ends at step %d instead of %d, at a learning rate of %g",
      lengths.now, lengths.before, schedule->LearningRate(lengths.now));
  const int64_t end = std::min(lengths.before, lengths.now);
  const int64_t stride = std::max<int64_t>((end - step) / kMaxSteps, 1);
  for (int64_t update = step + 1; update <= end; update += stride) {
    const double before = old_schedule->LearningRate(update);
    const double after = schedule->LearningRate(update);
    if (before == after) continue;
    return absl::StrFormat(
        "%s; optimizer.schedule depends on the number of steps: the learning "
        "rate of step %d is %g instead of %g, so the result differs from a run "
        "that had this length from the start",
        note, update, after, before);
  }
  return absl::StrCat(
      note, "; optimizer.schedule does not depend on the number of steps");
}

}  // namespace regard
