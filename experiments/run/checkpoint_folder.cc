#include "experiments/run/checkpoint_folder.h"

#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "files/json_file.h"
#include "files/json_text.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {
namespace {

constexpr int64_t kMostRecordBytes = int64_t{1} << 16;

absl::Status Refused(const std::string& path, absl::string_view problem) {
  return absl::FailedPreconditionError(
      absl::StrCat(path, ": error: ", problem));
}

absl::StatusOr<std::string> WithoutLinks(const std::string& path) {
  std::error_code error;
  const std::filesystem::path canonical =
      std::filesystem::canonical(path, error);
  if (error) return FileError(path, "find it", error.value());
  return canonical.string();
}

std::string RecordText(const CheckpointRecord& record) {
  return absl::StrCat("{\"path\":", JsonString(record.path),
                      ",\"id\":", JsonString(record.id), "}\n");
}

absl::StatusOr<bool> HoldsSteps(const std::string& folder,
                                FileOperations& files) {
  REGARD_ASSIGN_OR_RETURN(const PathKind kind, KindOfPath(folder, files));
  if (kind != PathKind::kDirectory) return false;
  REGARD_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                          ListDirectory(folder, files));
  for (const std::string& name : names) {
    if (absl::StartsWith(name, "step-")) return true;
  }
  return false;
}

}  // namespace

absl::StatusOr<std::optional<CheckpointRecord>> ReadCheckpointRecord(
    const std::string& folder, FileOperations& files) {
  const std::string path = JoinPath(folder, kCheckpointRecord);
  const absl::StatusOr<std::string> text =
      ReadFile(path, kMostRecordBytes, files);
  if (absl::IsNotFound(text.status())) return std::nullopt;
  REGARD_RETURN_IF_ERROR(text.status());
  absl::StatusOr<JsonFile> json = JsonFile::Parse(*text, path);
  if (json.ok()) {
    const std::optional<std::string> there = json->root().Text("path");
    const std::optional<std::string> id = json->root().Text("id");
    if (there.has_value() && id.has_value()) {
      return CheckpointRecord{.path = *there, .id = *id};
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": error: not a record of checkpoints"));
}

absl::StatusOr<std::string> CheckpointFolder(const std::string& run_folder,
                                             FileOperations& files) {
  REGARD_ASSIGN_OR_RETURN(const std::optional<CheckpointRecord> run,
                          ReadCheckpointRecord(run_folder, files));
  if (!run.has_value()) return JoinPath(run_folder, "checkpoints");
  REGARD_ASSIGN_OR_RETURN(const std::optional<CheckpointRecord> there,
                          ReadCheckpointRecord(run->path, files));
  if (!there.has_value()) {
    return Refused(
        run->path,
        absl::StrCat("is recorded in ", JoinPath(run_folder, kCheckpointRecord),
                     " as the folder of its checkpoints, but has no ",
                     kCheckpointRecord, ": is its disk there?"));
  }
  if (there->id != run->id) {
    return Refused(run->path,
                   absl::StrCat("holds checkpoints of another run, ",
                                there->path, ": its id is ", there->id, ", ",
                                run_folder, " has ", run->id));
  }
  return run->path;
}

absl::Status RecordCheckpointFolder(const std::string& run_folder,
                                    const std::string& folder,
                                    absl::string_view id,
                                    FileOperations& files) {
  REGARD_ASSIGN_OR_RETURN(const std::string run_path, WithoutLinks(run_folder));
  REGARD_ASSIGN_OR_RETURN(const std::string path, WithoutLinks(folder));
  REGARD_ASSIGN_OR_RETURN(const std::optional<CheckpointRecord> run,
                          ReadCheckpointRecord(run_folder, files));
  REGARD_ASSIGN_OR_RETURN(const std::optional<CheckpointRecord> there,
                          ReadCheckpointRecord(folder, files));
  const std::string run_id = run.has_value() ? run->id : std::string(id);
  if (there.has_value() && there->id != run_id) {
    return Refused(path, absl::StrCat("holds checkpoints of another run, ",
                                      there->path, ": its id is ", there->id,
                                      ", this run has ", run_id));
  }
  if (run.has_value() && !there.has_value()) {
    return Refused(path, absl::StrCat("has no ", kCheckpointRecord,
                                      ", but the checkpoints of this run are "
                                      "in ",
                                      run->path));
  }
  if (!run.has_value()) {
    for (const std::string& holder :
         {path, JoinPath(run_path, "checkpoints")}) {
      REGARD_ASSIGN_OR_RETURN(const bool holds, HoldsSteps(holder, files));
      if (holds) {
        return Refused(holder,
                       absl::StrCat("holds checkpoints already, and ", run_path,
                                    " has no record of ", path));
      }
    }
  }
  if (run.has_value() && run->path == path && there->path == run_path) {
    return absl::OkStatus();
  }
  // A run without its record is one that has not begun.
  REGARD_RETURN_IF_ERROR(WriteFileAtomically(JoinPath(path, kCheckpointRecord),
                                             RecordText({run_path, run_id}),
                                             files));
  return WriteFileAtomically(JoinPath(run_path, kCheckpointRecord),
                             RecordText({path, run_id}), files);
}

}  // namespace regard
