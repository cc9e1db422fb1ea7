#include "experiments/run/run_description.h"

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "files/file.h"
#include "nlohmann/json.hpp"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {
namespace {

using Json = nlohmann::json;

constexpr int64_t kMostBytes = int64_t{1} << 20;
constexpr char kName[] = "run.json";

absl::string_view DirectionName(Better better) {
  switch (better) {
    case Better::kLower:
      return "lower";
    case Better::kHigher:
      return "higher";
    case Better::kNeither:
      break;
  }
  return "neither";
}

absl::Status WrongVersion(int64_t version) {
  return absl::InvalidArgumentError(
      absl::StrCat("a run folder of format version ", version,
                   "; this program reads version ", kRunFormatVersion,
                   ": train the run again"));
}

}  // namespace

std::string RunDescriptionJson(absl::Span<const MetricInfo> metrics) {
  std::string text =
      absl::StrCat("{\"format_version\":", kRunFormatVersion, ",\"metrics\":[");
  const char* separator = "\n";
  for (const MetricInfo& metric : metrics) {
    const nlohmann::ordered_json entry = {
        {"name", metric.name},
        {"unit", metric.unit},
        {"meaning", metric.meaning},
        {"better", std::string(DirectionName(metric.better))},
        {"logarithmic", metric.logarithmic}};
    absl::StrAppend(&text, separator,
                    entry.dump(-1, ' ', false, Json::error_handler_t::replace));
    separator = ",\n";
  }
  return absl::StrCat(text, "]}\n");
}

absl::StatusOr<std::vector<MetricInfo>> ParseRunDescription(
    absl::string_view text) {
  const Json json = Json::parse(text.begin(), text.end(), /*cb=*/nullptr,
                                /*allow_exceptions=*/false);
  const absl::Status wrong =
      absl::InvalidArgumentError("run.json is not the description of a run");
  const auto has = [](const Json& object, const char* key, auto is) {
    return object.is_object() && object.contains(key) && (object[key].*is)();
  };
  if (!has(json, "format_version", &Json::is_number_integer)) return wrong;
  const auto version = json["format_version"].get<int64_t>();
  if (version != kRunFormatVersion) return WrongVersion(version);
  if (!has(json, "metrics", &Json::is_array)) return wrong;
  std::vector<MetricInfo> metrics;
  for (const Json& entry : json["metrics"]) {
    for (const char* key : {"name", "unit", "meaning", "better"}) {
      if (!has(entry, key, &Json::is_string)) return wrong;
    }
    if (!has(entry, "logarithmic", &Json::is_boolean)) return wrong;
    const auto better = entry["better"].get<std::string>();
    metrics.push_back({.name = entry["name"].get<std::string>(),
                       .unit = entry["unit"].get<std::string>(),
                       .meaning = entry["meaning"].get<std::string>(),
                       .better = better == "lower"    ? Better::kLower
                                 : better == "higher" ? Better::kHigher
                                                      : Better::kNeither,
                       .logarithmic = entry["logarithmic"].get<bool>()});
  }
  return metrics;
}

absl::StatusOr<std::vector<MetricInfo>> ReadRunDescription(
    const std::string& run_folder) {
  const auto located = [&](const absl::Status& status) {
    return absl::InvalidArgumentError(
        absl::StrCat(run_folder, ": error: ", status.message()));
  };
  if (!PathExists(JoinPath(run_folder, kName)) &&
      PathExists(JoinPath(run_folder, "resolved.textproto"))) {
    return located(WrongVersion(1));
  }
  absl::StatusOr<std::string> text =
      ReadFile(JoinPath(run_folder, kName), kMostBytes);
  if (IsMachineFailure(text.status())) return WithErrorPrefix(text.status());
  if (!text.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("error: no run there: ", text.status().message()));
  }
  absl::StatusOr<std::vector<MetricInfo>> metrics = ParseRunDescription(*text);
  if (!metrics.ok()) return located(metrics.status());
  return metrics;
}

}  // namespace regard
