// Checkpoints of a run, stored in directories `checkpoints/step-N/`. A
// checkpoint exists completely or not at all, even if the process or the
// machine dies while saving. Snapshots of earlier weights, which several
// checkpoints may share, are stored next to the directories, one file per step.
// The layout is described in docs/checkpoints.md.
//
// Only one process at a time may save or clean up, and it must have locked the
// run folder. An old checkpoint may disappear while another process reads it.
// The reader then treats it as damaged.
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
  std::vector<NamedTensorView> weights = {};
};

inline constexpr char kBestFile[] = "best.safetensors";
inline constexpr char kManifestFile[] = "manifest.json";
inline constexpr char kOptimizerFile[] = "optimizer.safetensors";
inline constexpr char kStateFile[] = "state.textproto";
inline constexpr char kWeightsFile[] = "weights.safetensors";

// Everything that a checkpoint stores. Its views must stay valid until the
// checkpoint is saved.
struct CheckpointContent {
  // The number of finished optimizer steps. At least 0.
  int64_t step = 0;
  std::vector<NamedTensorView> weights = {};
  // Metadata of the weights file, such as aliases of tied parameters.
  std::map<std::string, std::string> weights_metadata = {};
  std::vector<NamedTensorView> optimizer = {};
  // The trainer's state in text format.
  std::string state = {};
  // The best weights. Empty if the last weights are the best.
  std::vector<NamedTensorView> best = {};
  // Snapshots in order of increasing step. A snapshot that an earlier
  // checkpoint has stored is not written again.
  std::vector<Snapshot> snapshots = {};
};

// A checkpoint on disk.
struct CheckpointInfo {
  int64_t step = 0;
  std::string path;

  // Whether the checkpoint contains the best weights in addition to the last
  // weights.
  bool has_best = false;
  // Steps of the snapshots that this checkpoint refers to, in increasing order.
  std::vector<int64_t> snapshots = {};

  // Path of the last weights.
  std::string WeightsPath() const { return JoinPath(path, kWeightsFile); }
  // Path of the weights that predictions use: the best weights if there are
  // any, and the last weights if not.
  std::string ChosenWeightsPath() const {
    return has_best ? JoinPath(path, kBestFile) : WeightsPath();
  }
  std::string OptimizerPath() const { return JoinPath(path, kOptimizerFile); }
  std::string StatePath() const { return JoinPath(path, kStateFile); }
  std::string SnapshotPath(int64_t step) const;
};

// Saves a checkpoint under `run_folder`. Replaces an existing checkpoint of the
// same step. When the function returns, the checkpoint survives a power
// failure.
//
// After saving, removes all but the newest `keep` checkpoints (at least 1), and
// the snapshots to which no checkpoint refers. Neither counts nor removes
// checkpoints of later steps, which a resumed run has ignored as damaged.
//
// After an error, the earlier checkpoints are intact. If only the removal of
// old checkpoints failed, the new checkpoint is saved nevertheless.
absl::Status SaveCheckpoint(const std::string& run_folder,
                            const CheckpointContent& content, int keep,
                            FileOperations& files);

struct FoundCheckpoints {
  // Valid checkpoints, newest first.
  std::vector<CheckpointInfo> checkpoints;
  // One sentence for each damaged checkpoint that was ignored, newest first.
  std::vector<std::string> notes;
};

// Returns the newest valid checkpoints, at most `most` of them. Returns an
// empty list if the run folder has no checkpoints. Ignores damaged checkpoints.
// A checkpoint that cannot be read (IsMachineFailure) is an error, because
// resuming from an older one would lose optimizer steps that are on disk.
absl::StatusOr<FoundCheckpoints> FindCheckpoints(
    const std::string& run_folder, size_t most = 1,
    FileOperations& files = SystemFiles());

// Removes the files that a process left behind when it died while saving. A
// process must call this function before it saves its first checkpoint.
absl::Status CleanUpCheckpoints(const std::string& run_folder,
                                FileOperations& files);

// Removes all but the newest `keep` of the checkpoints up to step `newest`.
// SaveCheckpoint() also removes them, but a process may die before it does.
absl::Status PruneCheckpoints(const std::string& run_folder, int64_t newest,
                              int keep, FileOperations& files);

// Removes the checkpoints of steps after `step`, valid or not. Called if the
// run continues from `step` with another config.
absl::Status RemoveCheckpointsAfter(const std::string& run_folder, int64_t step,
                                    FileOperations& files);

struct FileSizeAndDigest {
  int64_t bytes = 0;
  std::string sha256;

  bool operator==(const FileSizeAndDigest&) const = default;
};

// Returns the text of manifest.json. `files` is keyed by file name relative to
// the directory of the manifest.
//
// A reader takes only the steps of the snapshots from a manifest. It then
// builds the text again from the files on disk and compares all bytes. This
// detects every flipped bit, and no file name from a manifest is ever used.
std::string ManifestText(int64_t step,
                         const std::map<std::string, FileSizeAndDigest>& files);

}  // namespace regard

#endif  // EXPERIMENTS_RUN_CHECKPOINT_H_
