// The part of training that runs on the ranks other than 0. These ranks compute
// the same optimizer steps as rank 0, but do not record metrics and do not
// write the run folder. They read only what a resumed run needs.
#ifndef EXPERIMENTS_TRAINING_FOLLOWER_H_
#define EXPERIMENTS_TRAINING_FOLLOWER_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "experiments/run/checkpoint.h"
#include "experiments/run/run_folder.h"
#include "experiments/tasks/experiment_config.h"
#include "experiments/tasks/plugins.h"
#include "experiments/tasks/task.h"
#include "experiments/training/trainer.h"
#include "optimization/ranks/ranks.h"

namespace regard {

// The run folder as rank 0 has found it.
struct RankZeroFolder {
  std::string path = {};  // empty if there is no folder yet
  bool holds_run = false;
  bool begun = false;

  // Returns `path` if the run has begun, and "" if it has not.
  std::string BegunRunPath() const { return begun ? path : ""; }
};

// Sends the run folder that rank 0 has opened to all ranks.
RankZeroFolder BroadcastFolder(const std::optional<RunFolder>& folder,
                               Ranks* ranks);

// Sends the start of training from rank 0 to the other ranks: the run folder
// `path` and the checkpoint, if there is one.
void BroadcastStart(const std::string& path,
                    const std::optional<CheckpointInfo>& checkpoint,
                    Ranks* ranks);

// Follows rank 0 from BroadcastStart() to the end of the run and of its
// baseline. Returns the exit code.
absl::StatusOr<int> FollowRankZero(const LoadedConfig& loaded, Task& task,
                                   const TrainerOptions& options,
                                   const Plugins& plugins);

}  // namespace regard

#endif  // EXPERIMENTS_TRAINING_FOLLOWER_H_
