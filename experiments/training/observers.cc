#include "experiments/training/observers.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "experiments/run/examples_file.h"
#include "files/file.h"

namespace regard {

absl::Status LogObserver::Recorded(const MetricsRecord& record) {
  return log_.Append(record);
}

absl::Status LogObserver::Checkpointed(const CheckpointContent&) {
  return log_.Sync();
}

absl::Status ExamplesObserver::Evaluated(const EvaluatedModel& evaluated) {
  if (!evaluated.final) return absl::OkStatus();
  return WriteFileAtomically(path_, ExamplesText(evaluated.sets));
}

void ProgressObserver::Updated(const StepProgress& update) {
  progress_.Update(update);
}

absl::Status ProgressObserver::Evaluated(const EvaluatedModel& evaluated) {
  if (evaluated.final || evaluated.metrics.empty()) return absl::OkStatus();
  std::string line = absl::StrCat("epoch ", evaluated.epoch);
  for (const auto& [name, value] : evaluated.metrics) {
    absl::StrAppend(&line, "  ", name, " ", value);
  }
  progress_.Message(line);
  return absl::OkStatus();
}

CheckpointObserver::CheckpointObserver(std::string run_folder, int keep)
    : run_folder_(std::move(run_folder)), keep_(keep) {}

absl::Status CheckpointObserver::Checkpointed(
    const CheckpointContent& content) {
  return SaveCheckpoint(run_folder_, content, keep_, SystemFiles()).status();
}

}  // namespace regard
