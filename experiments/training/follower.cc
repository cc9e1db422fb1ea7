#include "experiments/training/follower.h"

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "experiments/training/prepared_task.h"
#include "experiments/training/training_run.h"
#include "optimization/ranks/agreement.h"
#include "third_party/abseil_backport/check.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

// Returns the checkpoint of `step`, which rank 0 has found in the run folder
// `path`. All ranks read the same folder.
absl::StatusOr<CheckpointInfo> FindTold(const std::string& path, int64_t step) {
  REGARD_ASSIGN_OR_RETURN(const FoundCheckpoints found, FindCheckpoints(path));
  if (!found.checkpoints.empty() && found.checkpoints[0].step == step) {
    return found.checkpoints[0];
  }
  return absl::FailedPreconditionError(
      absl::StrCat(path, ": error: rank 0 resumes from step ", step,
                   found.checkpoints.empty()
                       ? ", but there is no checkpoint"
                       : absl::StrCat(", but the last checkpoint is of step ",
                                      found.checkpoints[0].step),
                   "; all machines must see the same run folder"));
}

// Trains with rank 0. Returns the signal that stopped the training, or 0.
absl::StatusOr<int> TrainAlong(const Experiment& config, Task& task,
                               const TrainerOptions& options,
                               const Plugins& plugins) {
  const std::string told = BroadcastText(options.ranks, "");
  Trainer trainer(config, task, plugins, options);
  if (!told.empty()) {
    const size_t space = told.find(' ');
    int64_t step = 0;
    REGARD_CHECK(
        absl::SimpleAtoi(absl::string_view(told).substr(0, space), &step))
        << told;
    REGARD_ASSIGN_OR_RETURN(const CheckpointInfo checkpoint,
                            FindTold(told.substr(space + 1), step));
    REGARD_RETURN_IF_ERROR(trainer.Restore(checkpoint));
  }
  return trainer.Run();
}

}  // namespace

RankZeroFolder BroadcastFolder(const std::optional<RunFolder>& folder,
                               Ranks* ranks) {
  std::string text;
  if (folder.has_value()) {
    text = absl::StrCat(folder->holds_run() ? "h" : "-",
                        folder->has_begun() ? "b" : "-", folder->path());
  }
  text = BroadcastText(ranks, text);
  if (text.empty()) return {};
  return {text.substr(2), text[0] == 'h', text[1] == 'b'};
}

void BroadcastStart(const std::string& path,
                    const std::optional<CheckpointInfo>& checkpoint,
                    Ranks* ranks) {
  BroadcastText(ranks, checkpoint.has_value()
                           ? absl::StrCat(checkpoint->step, " ", path)
                           : "");
}

absl::StatusOr<int> FollowRankZero(const LoadedConfig& loaded, Task& task,
                                   const TrainerOptions& options,
                                   const Plugins& plugins) {
  REGARD_ASSIGN_OR_RETURN(int stopped_by,
                          TrainAlong(loaded.config, task, options, plugins));
  if (stopped_by == 0 && loaded.baseline != nullptr) {
    const LoadedConfig& baseline = *loaded.baseline;
    const RankZeroFolder found = BroadcastFolder(std::nullopt, options.ranks);
    REGARD_ASSIGN_OR_RETURN(
        const PreparedTask other,
        PrepareTask(baseline, found.BegunRunPath(), plugins, options.ranks));
    REGARD_ASSIGN_OR_RETURN(
        stopped_by, TrainAlong(baseline.config, *other.task, options, plugins));
  }
  return stopped_by == 0 ? 0 : 128 + stopped_by;
}

}  // namespace regard
