#include "experiments/run/status.h"

#include <cstddef>
#include <vector>

#include "files/file.h"
#include "files/json_file.h"
#include "nlohmann/json.hpp"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {
namespace {

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

}  // namespace regard
