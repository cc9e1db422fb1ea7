#include "tools/output_file.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <system_error>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "experiments/run/run_folder.h"
#include "files/file.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

// Whether a run writes a file of this name. Covers only the files whose endings
// CheckOutputFile() may accept.
bool IsOwnFile(absl::string_view name) {
  constexpr absl::string_view kNames[] = {
      "attention.json", "checkpoints.json", "environment.json",
      "examples.jsonl", "metrics.jsonl",    "report.html",
      "run.json",       "status.json",      "tokenizer.json"};
  return std::find(std::begin(kNames), std::end(kNames), name) !=
         std::end(kNames);
}

}  // namespace

absl::Status CheckOutputFile(absl::string_view flag, const std::string& path,
                             absl::Span<const absl::string_view> endings) {
  const auto wrong = [&](const auto&... parts) {
    return absl::InvalidArgumentError(
        absl::StrCat("error: ", flag, "=", path, ": ", parts...));
  };
  if (std::none_of(endings.begin(), endings.end(), [&](const auto& ending) {
        return absl::EndsWith(path, ending);
      })) {
    return wrong("must end in ", absl::StrJoin(endings, " or "));
  }
  const std::filesystem::path file(path);
  const std::string folder =
      file.has_parent_path() ? file.parent_path().string() : ".";
  std::error_code unknown;
  if (!std::filesystem::is_directory(folder, unknown)) {
    return wrong("the directory ", folder, " does not exist; create it first");
  }
  REGARD_ASSIGN_OR_RETURN(const PathKind kind, KindOfPath(path));
  if (kind == PathKind::kDirectory || kind == PathKind::kOther) {
    return wrong("already exists and is not a regular file; name another file");
  }
  const std::string name = file.filename().string();
  const std::string inside = file.parent_path().filename().string();
  REGARD_ASSIGN_OR_RETURN(const bool in_run, ContainsRun(folder));
  if ((in_run && IsOwnFile(name)) || inside == "checkpoints" ||
      absl::StartsWith(inside, "step-")) {
    return wrong("belongs to a run; name another file");
  }
  return absl::OkStatus();
}

}  // namespace regard
