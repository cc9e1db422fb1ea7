#include "experiments/run/status.h"

#include <cstddef>

#include "files/file.h"
#include "files/json_file.h"
#include "nlohmann/json.hpp"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {
namespace {

using Json = nlohmann::ordered_json;

// Names of the states, in the order of RunState.
constexpr absl::string_view kStateNames[] = {"running", "finished",
                                             "interrupted", "failed"};

}  // namespace

absl::string_view StateName(RunState state) {
  return kStateNames[static_cast<size_t>(state)];
}

std::string StatusJson(const RunStatus& status) {
  Json json = {{"state", StateName(status.state)},
               {"step", status.step},
               {"metrics", status.metrics},
               {"weights_digest", status.weights_digest}};
  if (!status.signatures.empty()) json["signatures"] = status.signatures;
  for (const auto& [name, interval] : status.confidence) {
    json["confidence"][name] = {{"mean", interval.mean},
                                {"half_width", interval.half_width},
                                {"low", interval.low},
                                {"high", interval.high}};
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
  RunStatus status = {
      .state = static_cast<RunState>(json.Choice("state", kStateNames)),
      .step = json.Integer("step"),
      .metrics = json.Numbers("metrics"),
      .weights_digest = json.Text("weights_digest"),
      .signatures = json.Texts("signatures")};
  REGARD_RETURN_IF_ERROR(file.status());
  return status;
}

}  // namespace regard
