#include "experiments/run/run_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "files/json_file.h"
#include "files/printable_text.h"
#include "files/utf8.h"
#include "nlohmann/json.hpp"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {
namespace {

// This file is never removed. If it were removed, two processes could lock two
// different files with this name.
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

// Makes a new directory with a name that no other run has.
absl::StatusOr<std::string> MakeNewFolder(const OpenRunFolderOptions& options) {
  const std::string runs = NewRunsFolder();
  REGARD_RETURN_IF_ERROR(MakeDirectories(runs, SystemFiles()));
  const std::string base =
      JoinPath(runs, FolderName(options.name, options.now));
  std::string path = base;
  for (int number = 2; SystemFiles().MakeDirectory(path) != 0; ++number) {
    if (errno != EEXIST) return WriteError(path, "create the directory", errno);
    path = absl::StrCat(base, "-", number);
  }
  return path;
}

bool IsOwnFolder(absl::string_view name) {
  return name == "baseline" || name == "checkpoints" || name == "tensorboard" ||
         absl::StartsWith(name, "step-");
}

absl::Status Refused(const std::string& path, absl::string_view problem) {
  return absl::FailedPreconditionError(
      absl::StrCat(path, ": error: ", problem));
}

// Rejects symbolic links, because a write through a link would change a file
// elsewhere.
absl::Status RefuseLinks(const std::string& folder) {
  const absl::StatusOr<std::vector<std::string>> names = ListDirectory(folder);
  // Another process may be changing the folder.
  if (absl::IsNotFound(names.status())) return absl::OkStatus();
  REGARD_RETURN_IF_ERROR(names.status());
  for (const std::string& name : *names) {
    const std::string path = JoinPath(folder, name);
    REGARD_ASSIGN_OR_RETURN(const PathKind kind, KindOfPath(path));
    if (kind == PathKind::kLink) {
      return Refused(path,
                     "is a symbolic link; a run folder must not contain links "
                     "while it is written");
    }
    if (kind == PathKind::kOther) {
      return Refused(path, "is neither a file nor a folder");
    }
    if (kind == PathKind::kDirectory && IsOwnFolder(name)) {
      REGARD_RETURN_IF_ERROR(RefuseLinks(path));
    }
  }
  return absl::OkStatus();
}

absl::Status OfAnotherRun(const std::string& path,
                          const CheckpointFolderLink& there,
                          absl::string_view run, absl::string_view id) {
  return Refused(path, absl::StrCat("holds checkpoints of another run, ",
                                    there.path, ": its id is ", there.id,
                                    ", but the id of ", run, " is ", id));
}

absl::StatusOr<std::string> WithoutLinks(const std::string& path) {
  std::error_code error;
  const std::filesystem::path canonical =
      std::filesystem::canonical(path, error);
  if (error) return FileError(path, "find it", error.value());
  return canonical.string();
}

std::string RecordText(const CheckpointFolderLink& record) {
  return JsonText({{"path", record.path}, {"id", record.id}}) + "\n";
}

}  // namespace

std::string NewRunsFolder() {
  const char* const workspace = std::getenv("BUILD_WORKSPACE_DIRECTORY");
  return workspace == nullptr || *workspace == '\0'
             ? ResolveUserPath("runs")
             : JoinPath(workspace, "runs");
}

absl::StatusOr<bool> ContainsRun(const std::string& path) {
  for (const char* name :
       {"config.textproto", "resolved.textproto", "run.json", "metrics.jsonl",
        "checkpoints", "checkpoints.json", "status.json"}) {
    REGARD_ASSIGN_OR_RETURN(const PathKind kind,
                            KindOfPath(JoinPath(path, name)));
    if (kind != PathKind::kNothing) return true;
  }
  return false;
}

absl::StatusOr<RunFolder> RunFolder::Open(const OpenRunFolderOptions& options) {
  std::string path = options.path;
  if (path.empty()) {
    REGARD_ASSIGN_OR_RETURN(path, MakeNewFolder(options));
  } else {
    REGARD_RETURN_IF_ERROR(MakeDirectories(path, SystemFiles()));
  }
  REGARD_RETURN_IF_ERROR(RefuseLinks(path));
  const std::string lock_path = JoinPath(path, kLockFile);
  RunFolder folder(path,
                   {lock_path, O_RDWR | O_CREAT | O_NOFOLLOW, SystemFiles()});
  if (folder.lock_.number() < 0) return WriteError(lock_path, "open", errno);
  while (flock(folder.lock_.number(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return WriteError(lock_path, "lock", errno);
    return absl::FailedPreconditionError(absl::StrCat(
        path,
        ": another process is writing to this run; wait until it has ended"));
  }
  REGARD_ASSIGN_OR_RETURN(folder.holds_run_, ContainsRun(path));
  REGARD_ASSIGN_OR_RETURN(const PathKind config,
                          KindOfPath(folder.File("resolved.textproto")));
  folder.has_begun_ = config != PathKind::kNothing;
  if (folder.holds_run_ && !options.resume) {
    return absl::FailedPreconditionError(
        absl::StrCat(path,
                     ": already holds a run; resume it with --resume, or name "
                     "another folder"));
  }
  return folder;
}

absl::Status RunFolder::CheckNotMoved() const {
  struct stat held;
  struct stat there;
  const std::string path = File(kLockFile);
  const bool found = SystemFiles().Status(path, &there) == 0;
  if (!found && errno != ENOENT && errno != ENOTDIR) {
    return FileError(path, "find it", errno);
  }
  if (found && fstat(lock_.number(), &held) == 0 &&
      held.st_dev == there.st_dev && held.st_ino == there.st_ino) {
    return absl::OkStatus();
  }
  return Refused(path_,
                 "has been moved or removed since this run began to write "
                 "there");
}

absl::Status RunFolder::Write(absl::string_view name,
                              absl::string_view text) const {
  REGARD_RETURN_IF_ERROR(CheckNotMoved());
  return WriteFileAtomically(File(name), text);
}

absl::Status CheckConfigNotLost(const std::string& run_folder) {
  for (const char* name : {"metrics.jsonl", "status.json"}) {
    if (!PathExists(JoinPath(run_folder, name))) continue;
    return Refused(JoinPath(run_folder, "resolved.textproto"),
                   absl::StrCat("is missing from a run that has ", name,
                                "; restore it, or train in another folder"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<CheckpointFolderLink>> ReadCheckpointFolderLink(
    const std::string& folder, FileOperations& files) {
  const std::string path = JoinPath(folder, kCheckpointRecord);
  const absl::StatusOr<std::string> text =
      ReadFile(path, kMaxTextFileBytes, files);
  if (absl::IsNotFound(text.status())) return std::nullopt;
  REGARD_RETURN_IF_ERROR(text.status());
  REGARD_ASSIGN_OR_RETURN(JsonFile file, JsonFile::Parse(*text, path));
  const JsonObject json = file.root();
  CheckpointFolderLink record = {.path = json.Text("path"),
                                 .id = json.Text("id")};
  REGARD_RETURN_IF_ERROR(file.status());
  return record;
}

absl::StatusOr<std::string> CheckpointFolder(const std::string& run_folder,
                                             FileOperations& files) {
  REGARD_ASSIGN_OR_RETURN(const std::optional<CheckpointFolderLink> run,
                          ReadCheckpointFolderLink(run_folder, files));
  if (!run.has_value()) return JoinPath(run_folder, "checkpoints");
  REGARD_ASSIGN_OR_RETURN(const std::optional<CheckpointFolderLink> there,
                          ReadCheckpointFolderLink(run->path, files));
  if (!there.has_value()) {
    return Refused(
        run->path,
        absl::StrCat("is recorded in ", JoinPath(run_folder, kCheckpointRecord),
                     " as the folder of its checkpoints, but has no ",
                     kCheckpointRecord, "; check that its disk is mounted"));
  }
  if (there->id != run->id) {
    return OfAnotherRun(run->path, *there, run_folder, run->id);
  }
  return run->path;
}

absl::StatusOr<std::string> CheckpointFolderForWriting(
    const std::string& run_folder) {
  REGARD_ASSIGN_OR_RETURN(const std::string folder,
                          CheckpointFolder(run_folder));
  REGARD_ASSIGN_OR_RETURN(const std::string run_path, WithoutLinks(run_folder));
  REGARD_ASSIGN_OR_RETURN(const std::optional<CheckpointFolderLink> there,
                          ReadCheckpointFolderLink(folder));
  if (!there.has_value() || there->path == run_path) return folder;
  return Refused(folder, absl::StrCat("holds the checkpoints of ", there->path,
                                      ", not of ", run_path,
                                      "; if the run has moved, resume it "
                                      "with --checkpoints=",
                                      folder));
}

absl::Status RecordCheckpointFolder(const std::string& run_folder,
                                    const std::string& folder,
                                    absl::string_view id,
                                    FileOperations& files) {
  REGARD_ASSIGN_OR_RETURN(const std::string run_path, WithoutLinks(run_folder));
  REGARD_ASSIGN_OR_RETURN(const std::string path, WithoutLinks(folder));
  for (const std::string& recorded : {run_path, path}) {
    if (FindInvalidUtf8(recorded).has_value()) {
      return Refused(
          PrintableText(recorded),
          absl::StrCat("must be UTF-8 to be recorded in ", kCheckpointRecord));
    }
  }
  REGARD_ASSIGN_OR_RETURN(const std::optional<CheckpointFolderLink> run,
                          ReadCheckpointFolderLink(run_folder, files));
  REGARD_ASSIGN_OR_RETURN(const std::optional<CheckpointFolderLink> there,
                          ReadCheckpointFolderLink(folder, files));
  const std::string run_id = run.has_value() ? run->id : std::string(id);
  if (there.has_value() && there->id != run_id) {
    return OfAnotherRun(path, *there, run_path, run_id);
  }
  if (run.has_value() && !there.has_value()) {
    return Refused(path, absl::StrCat("has no ", kCheckpointRecord,
                                      ", but the checkpoints of this run are "
                                      "in ",
                                      run->path));
  }
  // Repeats the two writes below if a process died between them.
  const bool begun = there.has_value() && there->path == run_path;
  if (!run.has_value() && !begun) {
    REGARD_ASSIGN_OR_RETURN(const bool holds, ContainsRun(path));
    if (holds) {
      return Refused(path,
                     "holds a run, or the checkpoints of one; name another "
                     "folder for checkpoints");
    }
  }
  if (!run.has_value()) {
    for (const std::string& holder :
         {path, JoinPath(run_path, "checkpoints")}) {
      const absl::StatusOr<std::vector<std::string>> names =
          ListDirectory(holder, files);
      if (absl::IsNotFound(names.status())) continue;
      REGARD_RETURN_IF_ERROR(names.status());
      if (std::ranges::any_of(*names, [](const auto& name) {
            return absl::StartsWith(name, "step-");
          })) {
        return Refused(holder, absl::StrCat("already holds checkpoints, but ",
                                            run_path, " does not record ", path,
                                            " as their folder"));
      }
    }
  }
  if (run.has_value() && run->path == path && there->path == run_path) {
    return absl::OkStatus();
  }
  // Writes the record in the run folder last. If a process dies before that,
  // the next call repeats both writes.
  REGARD_RETURN_IF_ERROR(WriteFileAtomically(JoinPath(path, kCheckpointRecord),
                                             RecordText({run_path, run_id}),
                                             files));
  return WriteFileAtomically(JoinPath(run_path, kCheckpointRecord),
                             RecordText({path, run_id}), files);
}

}  // namespace regard
