// The folder that a run writes: where it lies, and that one process at a time
// writes there. What it holds is in docs/run_folder.md.
#ifndef EXPERIMENTS_RUN_RUN_FOLDER_H_
#define EXPERIMENTS_RUN_RUN_FOLDER_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

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

// Holds the folder's lock for as long as it lives. Move-only.
class RunFolder {
 public:
  // Makes the folder if need be, and locks it. A FailedPrecondition if it holds
  // a run and `resume` is not set, if another process writes there, or if an
  // entry of the run is a symbolic link (the folder itself may be one); nothing
  // in it is then changed.
  static absl::StatusOr<RunFolder> Open(const RunFolderOptions& options);

  RunFolder(RunFolder&& other) noexcept;
  RunFolder& operator=(RunFolder&&) = delete;
  ~RunFolder();

  const std::string& path() const { return path_; }

  // Whether a run was there before.
  bool holds_run() const { return holds_run_; }

  // The path of a file of the run.
  std::string File(absl::string_view name) const;

  // Replaces a file of the run atomically, for its texts: config.textproto,
  // resolved.textproto, environment.json, report.html.
  absl::Status Write(absl::string_view name, absl::string_view text) const;

  // A text that was written before.
  absl::StatusOr<std::string> Read(absl::string_view name) const;

 private:
  RunFolder(std::string path, int lock);

  std::string path_;
  int lock_;  // -1 once moved from
  bool holds_run_ = false;
};

}  // namespace regard

#endif  // EXPERIMENTS_RUN_RUN_FOLDER_H_
