// The checkpoints of a run: folders `checkpoints/step-N/` that exist whole or
// not at all, whatever moment the process or the machine dies at. Earlier
// weights that several checkpoints need are beside them, each in a file of its
// own. The layout is in docs/checkpoints.md.
//
// One process at a time may save or clean up: hold the run folder's lock. A
// reader may see an old checkpoint vanish, which then counts as damaged.
#ifndef EXPERIMENTS_RUN_CHECKPOINT_H_
#define EXPERIMENTS_RUN_CHECKPOINT_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "files/file.h"
#include "files/safetensors.h"

namespace regard {

// The weights at an earlier step.
struct Snapshot {
  int64_t step = 0;
  std::vector<TensorView> weights = {};
};

inline constexpr char kBestFile[] = "best.safetensors";
inline constexpr char kManifestFile[] = "manifest.json";
inline constexpr char kOptimizerFile[] = "optimizer.safetensors";
inline constexpr char kStateFile[] = "state.textproto";
inline constexpr char kWeightsFile[] = "weights.safetensors";

// What its views refer to outlives this.
struct CheckpointContent {
  // Finished steps, at least 0.
  int64_t step = 0;
  std::vector<TensorView> weights = {};
  // Goes into the weights file: aliases of tied parameters, for one.
  std::map<std::string, std::string> weights_metadata = {};
  std::vector<TensorView> optimizer = {};
  // Text of the trainer's own state.
  std::string state = {};
  // The weights to use where they are not the last ones; else empty.
  std::vector<TensorView> best = {};
  // By rising step. One that an earlier checkpoint has stored is not written
  // again.
  std::vector<Snapshot> snapshots = {};
};

// A checkpoint on the disk.
struct Checkpoint {
  int64_t step = 0;
  std::string path;

  // Whether it has other weights to use than the last ones.
  bool has_best = false;
  // Steps of the snapshots that it refers to, rising.
  std::vector<int64_t> snapshots = {};

  // The last weights.
  std::string WeightsPath() const { return JoinPath(path, kWeightsFile); }
  // The weights to use.
  std::string ChosenWeightsPath() const {
    return has_best ? JoinPath(path, kBestFile) : WeightsPath();
  }
  std::string OptimizerPath() const { return JoinPath(path, kOptimizerFile); }
  std::string StatePath() const { return JoinPath(path, kStateFile); }
  std::string SnapshotPath(int64_t step) const;
};

// Saves under `run_folder`; once it returns, the checkpoint outlives a power
// cut. One of the same step is replaced. Then all but the newest `keep` (at
// least 1) are removed, and snapshots that none refers to; checkpoints of later
// steps, which a resumed run passed over as damaged, are not counted and not
// touched.
//
// After an error the earlier checkpoints stand; if only the removal of old ones
// failed, the new one does as well.
absl::Status SaveCheckpoint(const std::string& run_folder,
                            const CheckpointContent& content, int keep,
                            FileOperations& files);

struct FoundCheckpoints {
  // Whole ones, newest first.
  std::vector<Checkpoint> checkpoints;
  // One sentence for each damaged one that was passed over, newest first.
  std::vector<std::string> notes;
};

// The newest whole checkpoints, `most` of them at most. A run folder without
// checkpoints is no error. Only a damaged checkpoint is passed over; one that
// cannot be read (IsMachineFailure) is an error, since an older one in its
// place would take back updates that are on the disk.
absl::StatusOr<FoundCheckpoints> FindCheckpoints(
    const std::string& run_folder, size_t most = 1,
    FileOperations& files = SystemFiles());

// Clears away what a process that died while saving left behind. To be called
// before the first save of a process.
absl::Status CleanUpCheckpoints(const std::string& run_folder,
                                FileOperations& files);

// Removes the checkpoints up to step `newest` but for the newest `keep`, as
// saves do, in case a process died before that.
absl::Status PruneCheckpoints(const std::string& run_folder, int64_t newest,
                              int keep, FileOperations& files);

// Removes the checkpoints of later steps than `step`, whole or not: the run
// goes another way from there.
absl::Status RemoveCheckpointsAfter(const std::string& run_folder, int64_t step,
                                    FileOperations& files);

struct FileFacts {
  int64_t bytes = 0;
  std::string sha256;

  bool operator==(const FileFacts&) const = default;
};

// The text of manifest.json; `files` by their names relative to its folder. Of
// a manifest nothing is read but the steps of its snapshots: the one that the
// files on the disk imply is made again and compared byte by byte, so that no
// flipped bit passes and no name in it is ever used.
std::string ManifestText(int64_t step,
                         const std::map<std::string, FileFacts>& files);

}  // namespace regard

#endif  // EXPERIMENTS_RUN_CHECKPOINT_H_
