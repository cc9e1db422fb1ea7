#include "experiments/ablation/stored_status.h"

#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "experiments/run/file.h"
#include "nlohmann/json.hpp"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 24;

}  // namespace

absl::StatusOr<StoredStatus> ParseStatus(absl::string_view text) {
  const nlohmann::json json = nlohmann::json::parse(
      text.begin(), text.end(), /*cb=*/nullptr, /*allow_exceptions=*/false);
  const auto has = [&json](const char* key, auto is) {
    return json.contains(key) && (json[key].*is)();
  };
  using Json = nlohmann::json;
  if (!json.is_object() || !has("state", &Json::is_string) ||
      !has("step", &Json::is_number_integer) ||
      !has("metrics", &Json::is_object) ||
      !has("weights_digest", &Json::is_string)) {
    return absl::InvalidArgumentError("is not the status of a run");
  }
  StoredStatus status;
  status.state = json["state"].get<std::string>();
  status.step = json["step"].get<int64_t>();
  status.weights_digest = json["weights_digest"].get<std::string>();
  for (const auto& [name, value] : json["metrics"].items()) {
    if (!value.is_number() && !value.is_null()) {
      return absl::InvalidArgumentError(
          absl::StrCat("metric ", name, " is not a number"));
    }
    status.metrics[name] = value.is_null()
                               ? std::numeric_limits<double>::quiet_NaN()
                               : value.get<double>();
  }
  return status;
}

absl::StatusOr<StoredStatus> ReadStatus(const std::string& path) {
  REGARD_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMostBytes));
  absl::StatusOr<StoredStatus> status = ParseStatus(text);
  if (!status.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": ", status.status().message()));
  }
  return status;
}

}  // namespace regard
