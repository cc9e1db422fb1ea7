#include "experiments/run/status.h"

#include <cstddef>
#include <limits>
#include <utility>

#include "absl/strings/str_split.h"
#include "files/json_file.h"
#include "nlohmann/json.hpp"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {
namespace {

constexpr int64_t kMaxLogBytes = int64_t{1} << 30;

// The record of a line without its newline, at least of `least_step`.
absl::StatusOr<MetricsRecord> ParseLine(absl::string_view path,
                                        absl::string_view line, int64_t number,
                                        int64_t least_step) {
  REGARD_ASSIGN_OR_RETURN(JsonFile file, JsonFile::Parse(line, path, number));
  const JsonObject json = file.root();
  json.Require({"metrics"});
  MetricsRecord record = {.step = json.Integer("step", {}, least_step),
                          .epoch = json.Integer("epoch"),
                          .metrics = json.Numbers("metrics")};
  if (json.json().contains("seconds")) {
    record.seconds = json.Real("seconds", 0);
  }
  REGARD_RETURN_IF_ERROR(file.status());
  return record;
}

// Reads the records up to `last_step`; `*bytes` are those of their lines.
absl::StatusOr<std::vector<MetricsRecord>> ReadRecords(absl::string_view path,
                                                       absl::string_view text,
                                                       int64_t last_step,
                                                       int64_t* bytes) {
  std::vector<MetricsRecord> records;
  std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  // What follows the last newline.
  lines.pop_back();
  for (const absl::string_view line : lines) {
    REGARD_ASSIGN_OR_RETURN(
        MetricsRecord record,
        ParseLine(path, line, static_cast<int64_t>(records.size()) + 1,
                  records.empty() ? 0 : records.back().step));
    if (record.step > last_step) break;
    records.push_back(std::move(record));
    *bytes += static_cast<int64_t>(line.size()) + 1;
  }
  return records;
}

// By state.
const std::vector<std::string>& StateNames() {
  static const auto* const names = new std::vector<std::string>{
      "running", "finished", "interrupted", "failed"};
  return *names;
}

}  // namespace

absl::string_view StateName(RunState state) {
  return StateNames()[static_cast<size_t>(state)];
}

std::string StatusJson(const RunStatus& status) {
  nlohmann::ordered_json json = {
      {"state", StateNames()[static_cast<size_t>(status.state)]},
      {"step", status.step},
      {"metrics", status.metrics},
      {"weights_digest", status.weights_digest}};
  if (!status.signatures.empty()) json["signatures"] = status.signatures;
  for (const auto& [name, interval] : status.confidence) {
    json["confidence"][name] = {{"mean", interval.mean},
                                {"half_width", interval.half_width}};
  }
  return JsonText(json) + "\n";
}

absl::Status WriteStatus(const std::string& run_folder,
                         const RunStatus& status) {
  return WriteFileAtomically(JoinPath(run_folder, "status.json"),
                             StatusJson(status));
}

absl::StatusOr<RunStatus> ReadStatus(const std::string& path) {
  REGARD_ASSIGN_OR_RETURN(JsonFile file, JsonFile::Read(path));
  const JsonObject json = file.root();
  json.Require({"state", "metrics", "weights_digest"});
  RunStatus status = {
      .state = static_cast<RunState>(json.Choice("state", StateNames())),
      .step = json.Integer("step"),
      .metrics = json.Numbers("metrics"),
      .weights_digest = json.Text("weights_digest").value_or(""),
      .signatures = json.Texts("signatures")};
  REGARD_RETURN_IF_ERROR(file.status());
  return status;
}

std::string MetricsLine(const MetricsRecord& record) {
  nlohmann::ordered_json json = {{"step", record.step},
                                 {"epoch", record.epoch},
                                 {"metrics", record.metrics}};
  if (record.seconds.has_value()) json["seconds"] = *record.seconds;
  return JsonText(json) + "\n";
}

absl::StatusOr<std::vector<MetricsRecord>> ReadMetricsLog(
    const std::string& path) {
  REGARD_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxLogBytes));
  int64_t bytes = 0;
  return ReadRecords(path, text, std::numeric_limits<int64_t>::max(), &bytes);
}

absl::StatusOr<FileWriter> ResumeMetricsLog(const std::string& path,
                                            int64_t step,
                                            FileOperations& files) {
  REGARD_ASSIGN_OR_RETURN(const PathKind kind, KindOfPath(path, files));
  if (kind == PathKind::kNothing) return FileWriter::Create(path, files);
  REGARD_ASSIGN_OR_RETURN(const std::string text,
                          ReadFile(path, kMaxLogBytes, files));
  int64_t kept = 0;
  const absl::Status read = ReadRecords(path, text, step, &kept).status();
  // A last line that is damaged is cut off, as a torn one is.
  const bool last = text.find('\n', kept) == text.size() - 1;
  if (!read.ok() && !last) return read;
  return FileWriter::Resume(path, kept, files);
}

}  // namespace regard
