#include "experiments/sweep/cell_records.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "files/file.h"
#include "files/json_file.h"
#include "nlohmann/json.hpp"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

std::string CellResultsText(absl::Span<const CellResult> cells) {
  std::string text;
  for (const CellResult& cell : cells) {
    absl::StrAppend(&text,
                    JsonText({{"key", cell.key},
                              {"arm", cell.arm},
                              {"seed", cell.seed},
                              {"metrics", nlohmann::ordered_json(cell.metrics)},
                              {"weights_digest", cell.weights_digest},
                              {"core_seconds", cell.core_seconds},
                              {"host", cell.host}}),
                    "\n");
  }
  return text;
}

absl::StatusOr<std::vector<CellResult>> ReadCellResults(
    const std::string& path) {
  REGARD_ASSIGN_OR_RETURN(const std::string text,
                          EnsureErrorPrefix(ReadFile(path)));
  std::vector<CellResult> cells;
  int64_t number = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    if (line.empty()) continue;
    REGARD_ASSIGN_OR_RETURN(JsonFile file, JsonFile::Parse(line, path, number));
    const JsonObject json = file.root();
    cells.push_back({.key = json.Text("key"),
                     .arm = json.Text("arm"),
                     .seed = static_cast<uint64_t>(json.Integer("seed")),
                     .metrics = json.Numbers("metrics"),
                     .weights_digest = json.Text("weights_digest"),
                     .core_seconds = json.Real("core_seconds", 0, 0),
                     .host = json.Text("host")});
    REGARD_RETURN_IF_ERROR(file.status());
  }
  return cells;
}

absl::Status WriteCellTrainingRecord(const std::string& path,
                                     const CellTrainingRecord& record) {
  return WriteFileAtomically(
      path, absl::StrCat(JsonText({{"config", record.key.config},
                                   {"data", record.key.data},
                                   {"program", record.key.program},
                                   {"exit_code", record.exit_code},
                                   {"failure", record.failure},
                                   {"core_seconds", record.core_seconds},
                                   {"host", record.host}}),
                         "\n"));
}

absl::StatusOr<CellTrainingRecord> ReadCellTrainingRecord(
    const std::string& path) {
  REGARD_ASSIGN_OR_RETURN(JsonFile file, JsonFile::Read(path));
  const JsonObject json = file.root();
  CellTrainingRecord record = {
      .key = {.config = json.Text("config"),
              .data = json.Text("data"),
              .program = json.Text("program")},
      .exit_code = static_cast<int>(json.Integer("exit_code", {}, 0, 255)),
      .failure = json.Text("failure"),
      .core_seconds = json.Real("core_seconds", 0, 0),
      .host = json.Text("host")};
  REGARD_RETURN_IF_ERROR(file.status());
  return record;
}

}  // namespace regard
