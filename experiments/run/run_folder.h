// The directory of a run, and the lock that lets only one process write to it.
// Its content is described in docs/run_folder.md.
//
// Checkpoints are in its subdirectory `checkpoints/`, or in a directory on
// another disk. In the latter case, a record in each of the two directories
// names the other one, with the same id. So a run never uses or removes the
// checkpoints of another run.
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

struct RunFolderOptions {
  // Path of the folder. If empty, Regard makes a new folder
  // `runs/NAME-YYYYMMDD-HHMMSS` (UTC), and appends `-2` and so on if that
  // exists. `runs` is in the root of the source tree
  // (BUILD_WORKSPACE_DIRECTORY, which `bazel run` sets), else in the current
  // directory.
  std::string path = {};
  // Name for a new folder. Characters other than letters, digits, `.`, `_` and
  // `-` become `-`.
  std::string name = "run";
  absl::Time now = absl::UnixEpoch();
  // Whether the folder may contain a run already.
  bool resume = false;
};

// Returns the directory `runs` that contains new runs.
std::string NewRunsFolder();

// A locked run folder. Releases the lock when destroyed. Move-only.
class RunFolder {
 public:
  // Makes the folder if it does not exist, and locks it. Returns
  // FailedPrecondition in three cases, and then changes nothing in the folder.
  // First, the folder contains a run and `resume` is false. Second, another
  // process has the lock. Third, an entry of the run is neither a file nor a
  // directory, for example a symbolic link. The folder itself may be a link.
  static absl::StatusOr<RunFolder> Open(const RunFolderOptions& options);

  const std::string& path() const { return path_; }

  // Whether the folder contained a run when it was opened.
  bool holds_run() const { return holds_run_; }
  // Whether that run had written resolved.textproto, the last file that a run
  // writes before training.
  bool has_begun() const { return has_begun_; }

  std::string File(absl::string_view name) const {
    return JoinPath(path_, name);
  }

  // Returns FailedPrecondition if the folder has been moved or removed. The
  // path then no longer names this run.
  absl::Status StillHeld() const;

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

// Whether `path` contains a run. A folder that contains only other files does
// not.
absl::StatusOr<bool> HoldsRun(const std::string& path);

// Returns FailedPrecondition if the folder has files that a run writes after
// resolved.textproto, but not resolved.textproto itself. Such a run did not
// stop before it had begun.
absl::Status RefuseLostConfig(const std::string& run_folder);

inline constexpr char kCheckpointRecord[] = "checkpoints.json";

struct CheckpointRecord {
  // The directory of the checkpoints if the record is in a run folder. The run
  // folder if it is in a checkpoint directory. Absolute and without symbolic
  // links.
  std::string path = {};
  // Digest of the config and the data of the run.
  std::string id = {};
};

// Reads the record in a folder. Returns nullopt if there is none.
absl::StatusOr<std::optional<CheckpointRecord>> ReadCheckpointRecord(
    const std::string& folder, FileOperations& files = SystemFiles());

// Returns the directory that contains `step-N/` and the snapshots. Returns
// FailedPrecondition if the record names a folder without a record, or with
// another id.
absl::StatusOr<std::string> CheckpointFolder(
    const std::string& run_folder, FileOperations& files = SystemFiles());

// Returns the checkpoint directory of a run that is to be written. Also returns
// FailedPrecondition if the record in the checkpoint directory names another
// run. In that case, this run may be a copy of the other.
absl::StatusOr<std::string> OwnCheckpointFolder(const std::string& run_folder);

// Records that the checkpoints of a run are in `folder`, which must exist and
// be locked. `id` is used if the run has no record yet. A run with a record may
// have moved. Returns FailedPrecondition and changes nothing if `folder`
// contains another run or its checkpoints. The same applies if this run has
// checkpoints elsewhere.
absl::Status RecordCheckpointFolder(const std::string& run_folder,
                                    const std::string& folder,
                                    absl::string_view id,
                                    FileOperations& files = SystemFiles());

}  // namespace regard

#endif  // EXPERIMENTS_RUN_RUN_FOLDER_H_
