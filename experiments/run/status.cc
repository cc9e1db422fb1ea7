#include "experiments/run/status.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "files/file.h"
#include "files/json_text.h"
#include "nlohmann/json.hpp"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {
namespace {

using Json = nlohmann::json;

constexpr int64_t kMostBytes = int64_t{1} << 24;

}  // namespace

absl::string_view StateName(RunState state) {
  switch (state) {
    case RunState::kRunning:
      return "running";
    case RunState::kFinished:
      return "finished";
    case RunState::kInterrupted:
      return "interrupted";
    case RunState::kFailed:
      break;
  }
  return "failed";
}

std::string StatusJson(const RunStatus& status) {
  std::string signatures;
  if (!status.signatures.empty()) {
    signatures =
        absl::StrCat(",\"signatures\":",
                     Json(status.signatures)
                         .dump(-1, ' ', false, Json::error_handler_t::replace));
  }
  std::string confidence;
  for (const auto& [name, interval] : status.confidence) {
    absl::StrAppend(&confidence, confidence.empty() ? "" : ",",
                    JsonString(name), ":{\"mean\":", JsonNumber(interval.mean),
                    ",\"half_width\":", JsonNumber(interval.half_width), "}");
  }
  if (!confidence.empty()) {
    confidence = absl::StrCat(",\"confidence\":{", confidence, "}");
  }
  return absl::StrCat("{\"state\":", JsonString(StateName(status.state)),
                      ",\"step\":", status.step,
                      ",\"metrics\":", JsonNumbers(status.metrics),
                      ",\"weights_digest\":", JsonString(status.weights_digest),
                      signatures, confidence, "}\n");
}

absl::Status WriteStatus(const std::string& run_folder,
                         const RunStatus& status) {
  return WriteFileAtomically(JoinPath(run_folder, "status.json"),
                             StatusJson(status));
}

absl::StatusOr<RunStatus> ParseStatus(absl::string_view text) {
  const Json json = Json::parse(text.begin(), text.end(), /*cb=*/nullptr,
                                /*allow_exceptions=*/false);
  const auto has = [&json](const char* key, auto is) {
    return json.contains(key) && (json[key].*is)();
  };
  if (!json.is_object() || !has("state", &Json::is_string) ||
      !has("step", &Json::is_number_integer) ||
      !has("metrics", &Json::is_object) ||
      !has("weights_digest", &Json::is_string)) {
    return absl::InvalidArgumentError("is not the status of a run");
  }
  RunStatus status;
  const std::string state = json["state"].get<std::string>();
  const RunState states[] = {RunState::kRunning, RunState::kFinished,
                             RunState::kInterrupted, RunState::kFailed};
  const auto* found =
      std::find_if(std::begin(states), std::end(states),
                   [&](RunState known) { return StateName(known) == state; });
  if (found == std::end(states)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", state, "' is not the state of a run"));
  }
  status.state = *found;
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
  const auto signatures = json.find("signatures");
  if (signatures == json.end() || !signatures->is_object()) return status;
  for (const auto& [name, signature] : signatures->items()) {
    if (signature.is_string()) {
      status.signatures[name] = signature.get<std::string>();
    }
  }
  return status;
}

absl::StatusOr<RunStatus> ReadStatus(const std::string& path) {
  REGARD_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMostBytes));
  absl::StatusOr<RunStatus> status = ParseStatus(text);
  if (!status.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": ", status.status().message()));
  }
  return status;
}

}  // namespace regard
