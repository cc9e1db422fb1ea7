// What the other ranks of a run do while rank 0 trains, measures and writes the
// run folder: they compute the same updates, and of the folder they read what a
// resumed run needs.
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

// The run folder as rank 0 finds it.
struct FoundFolder {
  std::string path = {};  // empty before there is one
  bool holds_run = false;
  bool begun = false;

  // Of a run that has begun, or empty.
  std::string RunPath() const { return begun ? path : ""; }
};

// What rank 0 has opened, told to all.
FoundFolder TellFolder(const std::optional<RunFolder>& folder, Ranks* ranks);

// Rank 0 tells the others that training begins, in the run folder `path` from
// `checkpoint`, if there is one.
void TellStart(const std::string& path,
               const std::optional<Checkpoint>& checkpoint, Ranks* ranks);

// Follows rank 0, from TellStart() on, to the end of the run and of its
// baseline. Returns the exit code.
absl::StatusOr<int> Follow(const LoadedConfig& loaded, Task& task,
                           const TrainerOptions& options,
                           const Plugins& plugins);

}  // namespace regard

#endif  // EXPERIMENTS_TRAINING_FOLLOWER_H_
