#include "experiments/run/run_folder.h"

#include <sys/file.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "files/file.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {
namespace {

// Stays in the folder: removing it would let two processes hold two locks.
constexpr char kLockFile[] = ".lock";

std::string FolderName(absl::string_view name, absl::Time now) {
  std::string safe(name);
  for (char& c : safe) {
    if (!absl::ascii_isalnum(c) && c != '.' && c != '_') c = '-';
  }
  if (safe.empty() || safe.front() == '.') safe = absl::StrCat("run", safe);
  return absl::StrCat(
      safe, "-", absl::FormatTime("%Y%m%d-%H%M%S", now, absl::UTCTimeZone()));
}

// Makes a folder that nobody else has made.
absl::StatusOr<std::string> MakeNewFolder(const RunFolderOptions& options) {
  const char* const workspace = std::getenv("BUILD_WORKSPACE_DIRECTORY");
  const std::string runs = workspace == nullptr || *workspace == '\0'
                               ? ResolveUserPath("runs")
                               : JoinPath(workspace, "runs");
  REGARD_RETURN_IF_ERROR(MakeDirectories(runs, SystemFiles()));
  const std::string base =
      JoinPath(runs, FolderName(options.name, options.now));
  std::string path = base;
  for (int number = 2; SystemFiles().MakeDirectory(path) != 0; ++number) {
    if (errno != EEXIST) return WriteError(path, "make the folder", errno);
    path = absl::StrCat(base, "-", number);
  }
  return path;
}

// A folder with other things in it is not one that holds a run.
bool HoldsRun(const std::string& path) {
  for (const char* name :
       {"config.textproto", "resolved.textproto", "run.json", "metrics.jsonl",
        "checkpoints", "checkpoints.json", "status.json"}) {
    if (PathExists(JoinPath(path, name))) return true;
  }
  return false;
}

bool IsOwnFolder(absl::string_view name) {
  return name == "baseline" || name == "checkpoints" || name == "tensorboard" ||
         absl::StartsWith(name, "step-");
}

// Through a link, a write would reach a file elsewhere.
absl::Status RefuseLinks(const std::string& folder) {
  const absl::StatusOr<std::vector<std::string>> names = ListDirectory(folder);
  // Another process may be at work there.
  if (absl::IsNotFound(names.status())) return absl::OkStatus();
  REGARD_RETURN_IF_ERROR(names.status());
  for (const std::string& name : *names) {
    const std::string path = JoinPath(folder, name);
    REGARD_ASSIGN_OR_RETURN(const PathKind kind, KindOfPath(path));
    if (kind == PathKind::kLink) {
      return absl::FailedPreconditionError(
          absl::StrCat(path,
                       ": error: is a symbolic link; the folder of a run that "
                       "is written has none"));
    }
    if (kind == PathKind::kDirectory && IsOwnFolder(name)) {
      REGARD_RETURN_IF_ERROR(RefuseLinks(path));
    }
  }
  return absl::OkStatus();
}

}  // namespace

RunFolder::RunFolder(std::string path, int lock)
    : path_(std::move(path)), lock_(lock) {}

RunFolder::RunFolder(RunFolder&& other) noexcept
    : path_(std::move(other.path_)),
      lock_(std::exchange(other.lock_, -1)),
      holds_run_(other.holds_run_) {}

RunFolder::~RunFolder() {
  if (lock_ >= 0) SystemFiles().Close(lock_);
}

absl::StatusOr<RunFolder> RunFolder::Open(const RunFolderOptions& options) {
  std::string path = options.path;
  if (path.empty()) {
    REGARD_ASSIGN_OR_RETURN(path, MakeNewFolder(options));
  } else {
    REGARD_RETURN_IF_ERROR(MakeDirectories(path, SystemFiles()));
  }
  REGARD_RETURN_IF_ERROR(RefuseLinks(path));
  const std::string lock_path = JoinPath(path, kLockFile);
  RunFolder folder(path, SystemFiles().OpenToChange(lock_path));
  if (folder.lock_ < 0) return WriteError(lock_path, "open", errno);
  while (flock(folder.lock_, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return WriteError(lock_path, "lock", errno);
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": another process is writing to this run"));
  }
  folder.holds_run_ = HoldsRun(path);
  if (folder.holds_run_ && !options.resume) {
    return absl::FailedPreconditionError(
        absl::StrCat(path,
                     ": holds a run already; resume it by --resume, or name "
                     "another folder"));
  }
  return folder;
}

std::string RunFolder::File(absl::string_view name) const {
  return JoinPath(path_, name);
}

absl::Status RunFolder::Write(absl::string_view name,
                              absl::string_view text) const {
  return WriteFileAtomically(File(name), text);
}

absl::StatusOr<std::string> RunFolder::Read(absl::string_view name) const {
  return ReadFile(File(name));
}

}  // namespace regard
