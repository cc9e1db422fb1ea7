#include "experiments/run/metrics_log.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "files/json_file.h"
#include "nlohmann/json.hpp"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kMaxLogBytes = int64_t{1} << 30;

// Reads the records up to `last_step`, and sets `*bytes` to the length of their
// lines. Splits off one line at a time, because a list of all lines could take
// 16 bytes for each byte of the text.
absl::StatusOr<std::vector<MetricsRecord>> ReadRecords(absl::string_view path,
                                                       absl::string_view text,
                                                       int64_t last_step,
                                                       int64_t max_of_last,
                                                       int64_t* bytes) {
  std::vector<MetricsRecord> records;
  int64_t of_last = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (line.end() == text.end()) break;  // an incomplete line, or the end
    REGARD_ASSIGN_OR_RETURN(
        JsonFile file,
        JsonFile::Parse(line, path, static_cast<int64_t>(records.size()) + 1));
    const JsonObject json = file.root();
    const int64_t least_step = records.empty() ? 0 : records.back().step;
    MetricsRecord record = {.step = json.Integer("step", {}, least_step),
                            .epoch = json.Integer("epoch"),
                            .metrics = json.Numbers("metrics")};
    if (json.json().contains("seconds")) {
      record.seconds = json.Real("seconds", 0);
    }
    REGARD_RETURN_IF_ERROR(file.status());
    if (record.step > last_step) break;
    if (record.step == last_step && ++of_last > max_of_last) break;
    records.push_back(std::move(record));
    *bytes += static_cast<int64_t>(line.size()) + 1;
  }
  return records;
}

}  // namespace

MetricCurves CurvesOf(absl::Span<const MetricsRecord> records) {
  MetricCurves curves;
  for (const MetricsRecord& record : records) {
    for (const auto& [metric, value] : record.metrics) {
      curves[metric][record.step] = value;
    }
  }
  return curves;
}

std::string MetricsLine(const MetricsRecord& record) {
  Json json = {{"step", record.step},
               {"epoch", record.epoch},
               {"metrics", record.metrics}};
  if (record.seconds.has_value()) json["seconds"] = *record.seconds;
  return JsonText(json) + "\n";
}

absl::StatusOr<std::vector<MetricsRecord>> ReadMetricsLog(
    const std::string& path) {
  REGARD_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxLogBytes));
  int64_t bytes = 0;
  constexpr int64_t kAll = std::numeric_limits<int64_t>::max();
  return ReadRecords(path, text, kAll, kAll, &bytes);
}

absl::StatusOr<FileWriter> ResumeMetricsLog(const std::string& path,
                                            int64_t step, FileOperations& files,
                                            int64_t records) {
  REGARD_ASSIGN_OR_RETURN(const PathKind kind, KindOfPath(path, files));
  if (kind == PathKind::kNothing) return FileWriter::Create(path, files);
  REGARD_ASSIGN_OR_RETURN(const std::string text,
                          ReadFile(path, kMaxLogBytes, files));
  int64_t kept = 0;
  const absl::Status read =
      ReadRecords(path, text, step, records, &kept).status();
  // Removes the last line if it is damaged, because it may be incomplete.
  const bool last = text.find('\n', kept) == text.size() - 1;
  if (!read.ok() && !last) return read;
  return FileWriter::Resume(path, kept, files);
}

}  // namespace regard
