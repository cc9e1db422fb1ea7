// Saves and restores the state of the trainer.
#include <algorithm>
#include <list>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "experiments/experiment.pb.h"
#include "experiments/run/checkpoint.h"
#include "experiments/training/trainer.h"
#include "experiments/training/trainer_state.pb.h"
#include "files/file.h"
#include "files/safetensors.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/text_format.h"
#include "nn/weights.h"
#include "optimization/ranks/agreement.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

// Stores the first error of a parser, which would otherwise print it.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    if (!text_.empty()) return;
    text_ = absl::StrCat(":", line + 1, ":", column + 1, ": error: ", message);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

std::string StatePrefix(const Optimizer<float>::State& state) {
  return absl::StrCat(state.name, "/");
}

// Prefix in the optimizer's file for the moving average of the weights. Only
// used if the file of the best weights contains other weights.
constexpr char kEmaPrefix[] = "ema/";

absl::StatusOr<TrainerState> ReadState(const CheckpointInfo& checkpoint) {
  REGARD_ASSIGN_OR_RETURN(const std::string text,
                          ReadFile(checkpoint.StatePath()));
  TrainerState state;
  google::protobuf::TextFormat::Parser parser;
  FirstError error;
  parser.RecordErrorsTo(&error);
  if (!parser.ParseFromString(text, &state)) {
    return absl::InvalidArgumentError(
        absl::StrCat(checkpoint.StatePath(), error.text()));
  }
  return state;
}

}  // namespace

absl::StatusOr<bool> IsFinalCheckpoint(const CheckpointInfo& checkpoint) {
  REGARD_ASSIGN_OR_RETURN(const TrainerState state, ReadState(checkpoint));
  return state.finished() || state.has_records();
}

absl::Status Trainer::CheckWeights() const {
  const std::string name = FindNonFiniteParameter(model_.parameters());
  if (name.empty()) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(
      "step ", step(), ": the optimizer made '", name,
      "' overflow at the learning rate ", state_.learning_rate(),
      "; lower optimizer.learning_rate, or set optimizer.clip_norm"));
}

absl::Status Trainer::Save() {
  REGARD_RETURN_IF_ERROR(CheckWeights());
  if (options_.ranks != nullptr) {
    REGARD_RETURN_IF_ERROR(CheckSameOnRanks(
        options_.ranks,
        {{absl::StrCat("weights after step ", step()), LastWeightsDigest()}},
        absl::StatusCode::kAborted));
  }
  TrainerState state = state_;
  const WeightSelection::State& selected = selection_.state();
  if (selected.best_value.has_value()) {
    state.set_best_value(*selected.best_value);
  }
  state.set_evaluations_without_gain(selected.evaluations_without_gain);
  for (const auto& [name, value] : schedule_->state()) {
    ScheduleNumber* number = state.add_schedule();
    number->set_key(name);
    number->set_value(value);
  }
  for (const auto& [name, value] : metrics_) {
    TrainerMetric* metric = state.add_metrics();
    metric->set_name(name);
    metric->set_value(value);
  }
  const ParameterStore<float>& parameters = model_.parameters();
  CheckpointContent content = {
      .step = step(), .weights = SlabViews(parameters, last_weights(), "")};
  const absl::Span<const float> chosen =
      finished() ? parameters.values() : selection_.chosen();
  if (selection_.active() && !chosen.empty()) {
    content.best = SlabViews(parameters, chosen, "");
  }
  for (const ParameterAlias& alias : parameters.aliases()) {
    content.weights_metadata[alias.name] =
        parameters.parameters()[alias.target].name;
  }
  const auto add = [&](absl::Span<const float> slab, absl::string_view prefix) {
    for (NamedTensorView& view : SlabViews(parameters, slab, prefix)) {
      content.optimizer.push_back(std::move(view));
    }
  };
  // Whole slabs. Each rank has only a part of a slab.
  std::list<Slab<float>> wholes;
  for (const auto& slab : optimizer_->state()) {
    add(reducer_.GatherToRankZero(slab.values, &wholes.emplace_back()),
        StatePrefix(slab));
  }
  // Saves the state that only further steps need. A finished run has
  // no further steps.
  if (!finished()) {
    if (!selected.ema.empty() && !selected.best.empty()) {
      add(selected.ema, kEmaPrefix);
    }
    for (const WeightSelection::Snapshot& snapshot : selected.snapshots) {
      content.snapshots.push_back(
          {snapshot.step, SlabViews(parameters, snapshot.weights, "")});
    }
  }
  google::protobuf::TextFormat::PrintToString(state, &content.state);
  return callbacks_.checkpointed(content);
}

absl::Status Trainer::SaveBeforeFinalEvaluation() {
  absl::Status saved;
  if (step() > 0 && !state_.has_records()) {
    state_.set_records(records_of_step_);
    state_.set_evaluated_step(evaluated_step_);
    saved = Save();
  }
  state_.clear_records();
  state_.clear_evaluated_step();
  return saved;
}

absl::Status Trainer::Restore(const CheckpointInfo& checkpoint) {
  REGARD_RETURN_IF_ERROR(
      LoadWeights(checkpoint.WeightsPath(), model_.parameters()));
  REGARD_ASSIGN_OR_RETURN(const SafetensorsReader reader,
                          SafetensorsReader::Open(checkpoint.OptimizerPath()));
  for (auto& slab : optimizer_->state()) {
    Slab<float> whole(slab.values.size());
    REGARD_RETURN_IF_ERROR(
        ReadSlab(reader, StatePrefix(slab), model_.parameters(), whole.span()));
    reducer_.CopyOwnChunks(whole, &slab.values);
  }
  REGARD_ASSIGN_OR_RETURN(TrainerState state, ReadState(checkpoint));
  if (state.step() != checkpoint.step ||
      state.term_sums_size() != state_.term_sums_size() ||
      state.term_counts_size() != state.term_sums_size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(checkpoint.StatePath(),
                     ": does not hold the state of this experiment: its step "
                     "or its loss terms differ"));
  }
  ScheduleState schedule;
  for (const ScheduleNumber& number : state.schedule()) {
    schedule[number.key()] = number.value();
  }
  REGARD_RETURN_IF_ERROR(schedule_->set_state(schedule));
  for (const TrainerMetric& metric : state.metrics()) {
    metrics_[metric.name()] = metric.value();
  }
  state_ = std::move(state);
  state_.clear_schedule();
  state_.clear_metrics();
  if (state_.has_records()) {
    records_of_step_ = state_.records();
    evaluated_step_ = state_.evaluated_step();
  } else {
    state_.set_finished(finished() || step() == total_steps());
  }
  optimizer_->set_updates(step());
  return RestoreSelection(checkpoint);
}

absl::Status Trainer::RestoreSelection(const CheckpointInfo& checkpoint) {
  ParameterStore<float>& parameters = model_.parameters();
  const auto read = [&](const std::string& path, const char* prefix,
                        std::vector<float>* slab) -> absl::Status {
    REGARD_ASSIGN_OR_RETURN(const SafetensorsReader reader,
                            SafetensorsReader::Open(path));
    slab->resize(parameters.values().size());
    return ReadSlab(reader, prefix, parameters, absl::MakeSpan(*slab));
  };
  WeightSelection::State selected;
  for (const int64_t step : checkpoint.snapshots) {
    selected.snapshots.push_back({step, {}});
    REGARD_RETURN_IF_ERROR(read(checkpoint.SnapshotPath(step), "",
                                &selected.snapshots.back().weights));
  }
  std::vector<float> chosen;
  if (checkpoint.has_best) {
    REGARD_RETURN_IF_ERROR(read(checkpoint.ChosenWeightsPath(), "", &chosen));
  }
  if (finished() && !chosen.empty()) {
    last_weights_.assign(parameters.values().begin(),
                         parameters.values().end());
    std::copy(chosen.begin(), chosen.end(), parameters.values().begin());
  }
  selected.evaluations_without_gain = state_.evaluations_without_gain();
  if (!state_.has_best_value()) {
    selected.ema = std::move(chosen);
  } else {
    selected.best_value = state_.best_value();
    selected.best = std::move(chosen);
    if (config_.training().ema_decay() > 0 && !finished()) {
      REGARD_RETURN_IF_ERROR(
          read(checkpoint.OptimizerPath(), kEmaPrefix, &selected.ema));
    }
  }
  selection_.set_state(std::move(selected));
  return absl::OkStatus();
}

}  // namespace regard
