#include "experiments/run/latest_run.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "experiments/run/run_folder.h"
#include "files/file.h"
#include "files/printable_text.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

absl::Status RecordLatestRun(const std::string& run_folder) {
  const std::string runs = NewRunsFolder();
  std::error_code unknown;
  const std::filesystem::path run =
      std::filesystem::canonical(run_folder, unknown);
  if (unknown) return FileError(run_folder, "find it", unknown.value());
  const std::filesystem::path folder =
      std::filesystem::canonical(runs, unknown);
  // If the `runs` folder does not exist, the run cannot be in it.
  if (unknown || run.parent_path() != folder) return absl::OkStatus();
  if (run.filename() == kLatestRun) return absl::OkStatus();
  const std::string link = JoinPath(runs, kLatestRun);
  REGARD_ASSIGN_OR_RETURN(const PathKind kind, KindOfPath(link));
  if (kind != PathKind::kLink && kind != PathKind::kNothing) {
    return absl::FailedPreconditionError(
        absl::StrCat(link,
                     ": is not a link to the latest run; rename it, so that "
                     "Regard can create the link"));
  }
  return ReplaceLink(link, run.filename().string(), SystemFiles());
}

absl::StatusOr<std::string> LatestRun() {
  const std::string link = JoinPath(NewRunsFolder(), kLatestRun);
  std::error_code error;
  const std::filesystem::path run = std::filesystem::read_symlink(link, error);
  if (error) return FileError(link, "read the link", error.value());
  return JoinPath(NewRunsFolder(), run.string());
}

std::string LatestRunNote(const std::string& run_folder) {
  return absl::StrCat("note: no --run was given; using the latest run, ",
                      PrintableText(run_folder));
}

}  // namespace regard
