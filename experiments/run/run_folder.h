// The directory of a run, and its lock, which ensures that only one process
// writes to it. The content of the directory is described in
// docs/run_folder.md.
//
// Checkpoints are in the subdirectory `checkpoints/`, or in a directory on
// another disk. In the second case, each of the two directories contains a
// record with the path of the other directory and the id of the run. Therefore,
// a run never uses or removes the checkpoints of another run.
#ifndef EXPERIMENTS_RUN_RUN_FOLDER_H_
#define EXPERIMENTS_RUN_RUN_FOLDER_H_

#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "files/file.h"

namespace regard {

struct OpenRunFolderOptions {
  // Path of the folder. If empty, Regard makes a new folder
  // `runs/NAME-YYYYMMDD-HHMMSS` (UTC), and appends `-2` and so on if this name
  // exists. `runs` is in the root of the source tree, which `bazel run` passes
  // in BUILD_WORKSPACE_DIRECTORY. Without this variable, `runs` is in the
  // current directory.
  std::string path = {};
  // Name for a new folder. Characters other than letters, digits, `.`, `_` and
  // `-` become `-`.
  std::string name = "run";
  absl::Time now = absl::UnixEpoch();
  // Whether the folder may already contain a run.
  bool resume = false;
};

// Returns the directory `runs` that contains new runs.
std::string NewRunsFolder();

// A locked run folder. Releases the lock when destroyed. Move-only.
class RunFolder {
 public:
  // Locks the folder, after making it if it does not exist. The folder itself
  // may be a link. Returns FailedPrecondition and changes nothing in the folder
  // if
  //   * the folder contains a run and `resume` is false,
  //   * another process has the lock, or
  //   * an entry of the run is neither a file nor a directory, such as a
  //     symbolic link.
  static absl::StatusOr<RunFolder> Open(const OpenRunFolderOptions& options);

  const std::string& path() const { return path_; }

  // Whether the folder contained a run when it was opened.
  bool holds_run() const { return holds_run_; }
  // Whether this run had written resolved.textproto when the folder was opened.
  // This is the last file that a run writes before training.
  bool has_begun() const { return has_begun_; }

  std::string File(absl::string_view name) const {
    return JoinPath(path_, name);
  }

  // Returns FailedPrecondition if the folder has been moved or removed. The
  // path then no longer names this run.
  absl::Status CheckNotMoved() const;

  // Replaces a file of the run atomically.
  absl::Status Write(absl::string_view name, absl::string_view text) const;

  absl::StatusOr<std::string> Read(absl::string_view name) const {
    return ReadFile(File(name));
  }

 private:
  RunFolder(std::string path, Descriptor lock)
      : path_(std::move(path)), lock_(std::move(lock)) {}

  std::string path_;
  Descriptor lock_;
  bool holds_run_ = false;
  bool has_begun_ = false;
};

// Whether the folder `path` contains a run. False if it has only other files.
absl::StatusOr<bool> ContainsRun(const std::string& path);

// Returns FailedPrecondition if the folder has files that a run writes after
// resolved.textproto, but not resolved.textproto. The config of such a run was
// lost after the run had begun.
absl::Status CheckConfigNotLost(const std::string& run_folder);

inline constexpr char kCheckpointRecord[] = "checkpoints.json";

struct CheckpointFolderLink {
  // In the record of a run folder, the directory of its checkpoints. In the
  // record of a checkpoint directory, the run folder. Absolute and without
  // symbolic links.
  std::string path = {};
  // Digest of the config and the data of the run.
  std::string id = {};
};

// Reads the record in `folder`. Returns nullopt if there is none.
absl::StatusOr<std::optional<CheckpointFolderLink>> ReadCheckpointFolderLink(
    const std::string& folder, FileOperations& files = SystemFiles());

// Returns the directory that contains `step-N/` and the snapshots of a run.
// Returns FailedPrecondition if the record of the run names a folder that has
// no record, or a record with another id.
absl::StatusOr<std::string> CheckpointFolder(
    const std::string& run_folder, FileOperations& files = SystemFiles());

// Like CheckpointFolder(), for a process that will write the run. Also returns
// FailedPrecondition if the record in the checkpoint directory names another
// run folder, because this run may be a copy of the other run.
absl::StatusOr<std::string> CheckpointFolderForWriting(
    const std::string& run_folder);

// Records that the checkpoints of a run are in `folder`, which must exist and
// be locked. `id` is used if the run has no record yet. If the run has a
// record, its checkpoint folder may have been moved to `folder`. Returns
// FailedPrecondition and changes nothing if
//   * `folder` contains another run or its checkpoints, or
//   * this run has checkpoints elsewhere.
absl::Status RecordCheckpointFolder(const std::string& run_folder,
                                    const std::string& folder,
                                    absl::string_view id,
                                    FileOperations& files = SystemFiles());

}  // namespace regard

#endif  // EXPERIMENTS_RUN_RUN_FOLDER_H_
