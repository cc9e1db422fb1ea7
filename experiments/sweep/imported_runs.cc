#include "experiments/sweep/imported_runs.h"

#include <filesystem>
#include <map>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "experiments/ablation/grid.h"
#include "experiments/comparison/run_list.h"
#include "experiments/run/status.h"
#include "experiments/sweep/cell_key.h"
#include "experiments/sweep/cell_records.h"
#include "files/file.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {
namespace {

// Copies a run folder, which may be read-only, as in Bazel's outputs. If the
// copy is interrupted, the incomplete folder does not have the name of a run.
absl::Status CopyRun(const std::string& from, const std::string& to) {
  namespace fs = std::filesystem;
  const std::string part = absl::StrCat(to, ".part");
  std::error_code error;
  fs::remove_all(part, error);
  constexpr fs::copy_options kAll = fs::copy_options::recursive;
  // NOLINTNEXTLINE(build/include_what_you_use): it is in <filesystem>.
  if (!error) fs::copy(from, part, kAll, error);
  if (!error) {
    const fs::recursive_directory_iterator end;
    for (fs::recursive_directory_iterator entry(part, error);
         !error && entry != end; entry.increment(error)) {
      fs::permissions(entry->path(), fs::perms::owner_write,
                      fs::perm_options::add, error);
      if (error) break;
    }
  }
  if (error) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "cannot copy ", from, " to ", part, ": ", error.message()));
  }
  return RenameFile(part, to, SystemFiles());
}

}  // namespace

absl::Status FindFinishedRuns(SweepCells& cells) {
  for (CellWithState& cell : cells.cells) {
    const absl::StatusOr<RunStatus> status =
        ReadStatus(JoinPath(cell.folder, "status.json"));
    if (!status.ok() || status->state != RunState::kFinished) continue;
    REGARD_ASSIGN_OR_RETURN(cell.key, KeyOfRun(cell.folder));
    cell.state = SweepCellState::kFinished;
  }
  return absl::OkStatus();
}

absl::StatusOr<size_t> ImportRuns(const SweepOptions& options,
                                  SweepCells& cells) {
  REGARD_ASSIGN_OR_RETURN(const std::vector<ComparedRun> runs,
                          FindRuns(options.import_from));
  std::map<std::string, std::string> folders;  // finished runs by key
  for (const ComparedRun& run : runs) {
    if (!run.missing.empty() || run.status.state != RunState::kFinished) {
      continue;
    }
    const std::string folder = JoinPath(options.import_from, run.label);
    const absl::StatusOr<CellKey> key = KeyOfRun(folder);
    // Ignores runs without a key, such as runs that several programs computed.
    if (key.ok()) folders.emplace(key->Digest(), folder);
  }
  size_t count = 0;
  for (CellWithState& cell : cells.cells) {
    const auto found = folders.find(cell.key.Digest());
    if (found == folders.end() || cell.IsFinished() ||
        PathExists(cell.folder)) {
      continue;
    }
    cell.record.key = cell.key;
    REGARD_RETURN_IF_ERROR(MakeDirectories(
        cell.folder.substr(0, cell.folder.rfind('/')), SystemFiles()));
    REGARD_RETURN_IF_ERROR(
        WriteCellTrainingRecord(cell.RecordPath(), cell.record));
    REGARD_RETURN_IF_ERROR(CopyRun(found->second, cell.folder));
    cell.state = SweepCellState::kFinished;
    ++count;
  }
  return count;
}

}  // namespace regard
