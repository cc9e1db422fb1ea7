#include "experiments/run/status.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "experiments/run/file.h"
#include "experiments/run/json_text.h"

namespace regard {
namespace {

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

}  // namespace

std::string StatusJson(const RunStatus& status) {
  return absl::StrCat(
      "{\"state\":", JsonString(StateName(status.state)),
      ",\"step\":", status.step, ",\"metrics\":", JsonNumbers(status.metrics),
      ",\"weights_digest\":", JsonString(status.weights_digest), "}\n");
}

absl::Status WriteStatus(const std::string& run_folder,
                         const RunStatus& status) {
  return WriteFileAtomically(JoinPath(run_folder, "status.json"),
                             StatusJson(status));
}

}  // namespace regard
