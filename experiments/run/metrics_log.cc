#include "experiments/run/metrics_log.h"

#include <sys/types.h>

#include <cerrno>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "files/file.h"
#include "files/json_text.h"
#include "nlohmann/json.hpp"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {
namespace {

constexpr int64_t kMaxLogBytes = int64_t{1} << 30;

using Json = nlohmann::json;

// A count at a key of an object, or -1.
int64_t CountAt(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_unsigned()) return -1;
  const auto value = found->get<uint64_t>();
  if (value > std::numeric_limits<int64_t>::max()) return -1;
  return static_cast<int64_t>(value);
}

// The record of a line without its newline, absent if it is malformed.
std::optional<MetricsRecord> ParseLine(absl::string_view line) {
  const Json json = Json::parse(line.begin(), line.end(), nullptr, false);
  if (!json.is_object()) return std::nullopt;
  MetricsRecord record = {.step = CountAt(json, "step"),
                          .epoch = CountAt(json, "epoch")};
  const auto metrics = json.find("metrics");
  if (record.step < 0 || record.epoch < 0 || metrics == json.end() ||
      !metrics->is_object()) {
    return std::nullopt;
  }
  for (const auto& [name, value] : metrics->items()) {
    if (!value.is_number() && !value.is_null()) return std::nullopt;
    record.metrics[name] = value.is_null()
                               ? std::numeric_limits<double>::quiet_NaN()
                               : value.get<double>();
  }
  const auto seconds = json.find("seconds");
  if (seconds != json.end()) {
    if (!seconds->is_number()) return std::nullopt;
    record.seconds = seconds->get<double>();
  }
  return record;
}

// Calls `visit(record, end)` for each whole line, `end` being the offset after
// it, until that says false.
template <typename Visit>
absl::Status ForEachRecord(absl::string_view path, absl::string_view text,
                           Visit visit) {
  int64_t last_step = 0;
  size_t begin = 0;
  const auto error = [&](absl::string_view problem) {
    return absl::InvalidArgumentError(ErrorInText(path, text, begin, problem));
  };
  while (true) {
    const size_t newline = text.find('\n', begin);
    if (newline == absl::string_view::npos) return absl::OkStatus();
    std::optional<MetricsRecord> record =
        ParseLine(text.substr(begin, newline - begin));
    if (!record.has_value()) return error("not a record of metrics");
    if (record->step < last_step) {
      return error(
          absl::StrCat("step ", record->step, " after step ", last_step));
    }
    last_step = record->step;
    begin = newline + 1;
    if (!visit(*std::move(record), begin)) return absl::OkStatus();
  }
}

}  // namespace

std::string MetricsLine(const MetricsRecord& record) {
  std::string line =
      absl::StrCat("{\"step\":", record.step, ",\"epoch\":", record.epoch,
                   ",\"metrics\":", JsonNumbers(record.metrics));
  if (record.seconds.has_value()) {
    absl::StrAppend(&line, ",\"seconds\":", JsonNumber(*record.seconds));
  }
  return line + "}\n";
}

absl::StatusOr<std::vector<MetricsRecord>> ParseMetricsLog(
    absl::string_view path, absl::string_view text) {
  std::vector<MetricsRecord> records;
  REGARD_RETURN_IF_ERROR(
      ForEachRecord(path, text, [&](MetricsRecord&& record, int64_t) {
        records.push_back(std::move(record));
        return true;
      }));
  return records;
}

absl::StatusOr<std::vector<MetricsRecord>> ReadMetricsLog(
    const std::string& path) {
  REGARD_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxLogBytes));
  return ParseMetricsLog(path, text);
}

MetricsLog::MetricsLog(std::string path, int descriptor, int64_t bytes,
                       FileOperations& files)
    : path_(std::move(path)),
      descriptor_(descriptor),
      files_(files),
      bytes_(bytes) {}

MetricsLog::MetricsLog(MetricsLog&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      files_(other.files_),
      bytes_(other.bytes_) {}

MetricsLog::~MetricsLog() {
  if (descriptor_ >= 0) files_.Close(descriptor_);
}

absl::StatusOr<MetricsLog> MetricsLog::Create(const std::string& path,
                                              FileOperations& files) {
  const int descriptor = files.Create(path);
  if (descriptor < 0) return WriteError(path, "create", errno);
  return MetricsLog(path, descriptor, 0, files);
}

absl::StatusOr<MetricsLog> MetricsLog::Resume(const std::string& path,
                                              int64_t step,
                                              FileOperations& files) {
  REGARD_ASSIGN_OR_RETURN(const PathKind kind, KindOfPath(path, files));
  if (kind == PathKind::kNothing) return Create(path, files);
  REGARD_ASSIGN_OR_RETURN(const std::string text,
                          ReadFile(path, kMaxLogBytes, files));
  int64_t kept = 0;
  const absl::Status read =
      ForEachRecord(path, text, [&](MetricsRecord&& record, int64_t end) {
        if (record.step > step) return false;
        kept = end;
        return true;
      });
  // A last line that is damaged is cut off, as a torn one is.
  const bool last = text.find('\n', kept) == text.size() - 1;
  if (!read.ok() && !last) return read;
  const int descriptor = files.OpenToChange(path);
  if (descriptor < 0) return WriteError(path, "open", errno);
  MetricsLog log(path, descriptor, kept, files);
  if (files.Truncate(descriptor, kept) != 0) {
    return WriteError(path, "shorten", errno);
  }
  return log;
}

absl::Status MetricsLog::Append(const MetricsRecord& record) {
  const std::string line = MetricsLine(record);
  size_t written = 0;
  while (written < line.size()) {
    const ssize_t count = files_.WriteAt(
        descriptor_, line.data() + written, line.size() - written,
        bytes_ + static_cast<int64_t>(written));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      const int error = count < 0 ? errno : ENOSPC;
      // A torn line that stays is overwritten by the next, or cut on resuming.
      files_.Truncate(descriptor_, bytes_);
      return WriteError(path_, "write", error);
    }
    written += count;
  }
  bytes_ += static_cast<int64_t>(line.size());
  return absl::OkStatus();
}

absl::Status MetricsLog::Sync() {
  while (files_.Sync(descriptor_) != 0) {
    if (errno != EINTR) return WriteError(path_, "sync", errno);
  }
  return absl::OkStatus();
}

}  // namespace regard
