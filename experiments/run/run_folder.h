// The folder that a run writes: where it lies, and that one process at a time
// writes there. What it holds is in docs/run_folder.md.
//
// Its checkpoints are in its `checkpoints/`, or on another disk. Then a record
// on either side names the other and has the same id, so that no run takes or
// prunes those of another.
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
  // Empty for a new folder `runs/NAME-YYYYMMDD-HHMMSS` (UTC), with `-2` and so
  // on appended where that exists. It is made in the root of the source tree
  // (BUILD_WORKSPACE_DIRECTORY, which `bazel run` sets), else where the command
  // was typed.
  std::string path = {};
  // For a new folder; characters other than letters, digits, `.`, `_` and `-`
  // become `-`.
  std::string name = "run";
  absl::Time now = absl::UnixEpoch();
  // Whether the folder may hold a run already.
  bool resume = false;
};

// The folder `runs` that new runs are made in.
std::string NewRunsFolder();

// Holds the folder's lock for as long as it lives. Move-only.
class RunFolder {
 public:
  // Makes the folder if need be, and locks it. A FailedPrecondition if it holds
  // a run and `resume` is not set, if another process writes there, or if an
  // entry of the run is a symbolic link (the folder itself may be one) or
  // neither file nor folder; nothing in it is then changed.
  static absl::StatusOr<RunFolder> Open(const RunFolderOptions& options);

  const std::string& path() const { return path_; }

  // Whether a run was there when this was opened.
  bool holds_run() const { return holds_run_; }
  // Whether that run had all that it begins with: resolved.textproto, which is
  // written last.
  bool has_begun() const { return has_begun_; }

  std::string File(absl::string_view name) const {
    return JoinPath(path_, name);
  }

  // A FailedPrecondition once the folder has been moved or removed: what is
  // there now is not this run's.
  absl::Status StillHeld() const;

  // Replaces a text of the run atomically.
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

// A folder with other things in it is not one that holds a run.
absl::StatusOr<bool> HoldsRun(const std::string& path);

// A FailedPrecondition if what a run writes after resolved.textproto is there
// without it: this is not a run that stopped before it had begun.
absl::Status RefuseLostConfig(const std::string& run_folder);

inline constexpr char kCheckpointRecord[] = "checkpoints.json";

struct CheckpointRecord {
  // In a run's folder, that of its checkpoints; in the latter, the run's.
  // Absolute and without links.
  std::string path = {};
  // A digest of the run's config and data.
  std::string id = {};
};

// The record in a folder; absent if there is none.
absl::StatusOr<std::optional<CheckpointRecord>> ReadCheckpointRecord(
    const std::string& folder, FileOperations& files = SystemFiles());

// The folder that holds `step-N/` and snapshots. A FailedPrecondition if the
// record names a folder that has none, or one of another id.
absl::StatusOr<std::string> CheckpointFolder(
    const std::string& run_folder, FileOperations& files = SystemFiles());

// The same of a run that is to be written. A FailedPrecondition also if the
// checkpoints' record names another run, of which this one may be a copy.
absl::StatusOr<std::string> OwnCheckpointFolder(const std::string& run_folder);

// Records that the checkpoints of a run are in `folder`, which exists and is
// locked. `id` is that of the run if it has no record yet. A FailedPrecondition
// that changes nothing if the folder holds a run or checkpoints of another one,
// or if the run has checkpoints elsewhere. The folder of a run that has a
// record may have moved.
absl::Status RecordCheckpointFolder(const std::string& run_folder,
                                    const std::string& folder,
                                    absl::string_view id,
                                    FileOperations& files = SystemFiles());

}  // namespace regard

#endif  // EXPERIMENTS_RUN_RUN_FOLDER_H_
