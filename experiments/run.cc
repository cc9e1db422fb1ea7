#include "experiments/run.h"

#include <algorithm>
#include <any>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "data/data_source.h"
#include "experiments/experiment.pb.h"
#include "experiments/run/environment.h"
#include "experiments/run/metric.h"
#include "experiments/tasks/config_precision.h"
#include "experiments/tasks/experiment_config.h"
#include "nn/scoped_hook.h"
#include "optimization/interventions/site_requests.h"
#include "options/config_problems.h"
#include "options/reader.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

absl::Status CheckOverrides(absl::Span<const std::string> overrides) {
  for (const std::string& change : overrides) {
    const std::string name = change.substr(0, change.find_first_of(".=[{"));
    if (name == "data" || name == "search" || name == "intervene") continue;
    if (absl::StartsWith(change, absl::StrCat(kEvaluationStride, "="))) {
      continue;
    }
    return absl::InvalidArgumentError(
        absl::StrCat("error: --set ", change,
                     ": only fields of data, search and intervene can be "
                     "set for a trained model"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::any> LoadData(const TrainedRun& record,
                                  const AnyDataSource& source,
                                  const ReadRunFile& read) {
  const Experiment& config = record.config;
  return source.LoadAny({.path = config.data().path(),
                         .dev_path = config.data().dev_path(),
                         .seed = config.seed(),
                         .text_version = config.data().text_version(),
                         .read_run_file = read});
}

absl::StatusOr<std::unique_ptr<Task>> MakeTask(TrainedRun& record,
                                               const Plugins& plugins,
                                               bool with_data) {
  const Experiment& config = record.config;
  // Does not draw initial values, because the weights are read from a file.
  const TaskContext context = {config, plugins.scorers, /*finalize=*/false};
  const TaskInfo& info = *plugins.tasks.Find(config.model());
  const std::unique_ptr<AnyDataSource> source =
      plugins.data.Create(config.data());
  StoredFiles kept = {record.path, [&record](const std::string& name) {
                        return record.ReadText(name);
                      }};
  if (!record.pretrained.has_value()) {
    REGARD_ASSIGN_OR_RETURN(kept.numbers, ReadTrainingDataNumbers(record.path));
  }
  std::any data;
  absl::Status status;
  bool has_data = with_data || info.keep == nullptr;
  if (has_data) {
    REGARD_ASSIGN_OR_RETURN(data, LoadData(record, *source, kept.read));
  }
  if (info.keep != nullptr) status = info.keep(context, *source, kept, data);
  if (absl::IsNotFound(status) && !has_data) {
    absl::StatusOr<std::any> loaded = LoadData(record, *source, kept.read);
    // Prefers the error that states which part the run folder lacks.
    if (!loaded.ok()) {
      return status.message().empty() ? loaded.status() : status;
    }
    data = *std::move(loaded);
    has_data = true;
    status = info.keep(context, *source, kept, data);
  }
  REGARD_RETURN_IF_ERROR(status);
  std::unique_ptr<Task> task =
      plugins.tasks.Create(config.model(), std::move(data), context);
  if (!task->model().parameters().finalized()) {
    task->model().parameters().FinalizeWithZeros();
  }
  SetPrecision(config, task->model());
  ConfigProblems problems;
  if (has_data) {
    ValidateTask(*task, config, problems);
    if (problems.ok()) {
      ValidateSites({config.intervene(), config.probe()}, config.seed(),
                    task->model(), problems);
    }
  } else if (const std::string& problem = task->model().parameters().problem();
             !problem.empty()) {
    problems.Add("model", problem);
  }
  REGARD_RETURN_IF_ERROR(LocateProblems(problems, record.origins));
  REGARD_RETURN_IF_ERROR(record.LoadWeightsInto(task->model().parameters()));
  return task;
}

// Adds a note for each data file that has changed since the training.
void NoteChangedData(const Task& task, TrainedRun* record) {
  if (record->pretrained.has_value()) return;
  const absl::StatusOr<Environment> before = ReadRunDigests(record->path);
  if (!before.ok()) return;  // an earlier version made the run
  for (const auto& [name, digest] : task.data_digests()) {
    const auto then = before->data.find(name);
    if (then == before->data.end() || then->second == digest) continue;
    record->notes.push_back(
        absl::StrCat(name, " has changed since the training: its SHA-256 was ",
                     then->second, " and is now ", digest));
  }
}

}  // namespace

Run::Run(TrainedRun record, std::unique_ptr<Task> task)
    : record_(std::make_unique<TrainedRun>(std::move(record))),
      task_(std::move(task)),
      tape_(std::make_unique<Tape<float>>()),
      forward_(std::make_unique<regard::Forward<float>>(
          *tape_, std::as_const(task_->model().parameters()), nullptr)) {
  const SiteRequestsView requests = {config().intervene(), config().probe()};
  if (requests.empty()) return;
  configured_ =
      std::make_unique<ConfiguredHook<float>>(requests, config().seed());
  forward_->set_hook(configured_->BeginEvaluation(step()));
  CollectSiteMeans(config().seed(), task_->model(), *forward_, *configured_);
}

absl::StatusOr<Run> Run::Open(absl::string_view folder, const Plugins& plugins,
                              const OpenRunOptions& options) {
  REGARD_RETURN_IF_ERROR(CheckOverrides(options.overrides));
  REGARD_ASSIGN_OR_RETURN(TrainedRun record,
                          OpenTrainedRun(folder, &plugins, options.overrides));
  if (options.precision.has_value()) {
    record.config.set_precision(*options.precision);
    if (*options.precision == FLOAT32) record.config.clear_keep_float32();
  }
  REGARD_ASSIGN_OR_RETURN(
      std::unique_ptr<Task> task,
      MakeTask(record, plugins, options.data || !options.overrides.empty()));
  const bool other_data =
      std::ranges::any_of(options.overrides, [](absl::string_view change) {
        return absl::StartsWith(change, "data");
      });
  if (!other_data) NoteChangedData(*task, &record);
  return Run(std::move(record), std::move(task));
}

absl::StatusOr<Prediction> Run::Predict(const PredictionRequest& request,
                                        const PredictionOutputLimits& options,
                                        Hook<float>* hook) const {
  std::optional<ScopedExtraHook<float>> watch;
  if (hook != nullptr) watch.emplace(*forward_, hook);
  return task_->Predict(*forward_, request, options);
}

absl::StatusOr<ForwardLosses> Run::Forward(
    const ForwardRequest& pass, Hook<float>* hook,
    GradientSlab<float>* gradients) const {
  Model<float>& model = task_->model();
  const int64_t size = model.num_examples();
  for (const int64_t example : pass.examples) {
    if (example >= 0 && example < size) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "there is no training example ", example,
        size == 0 ? std::string("; the run must be opened with its data")
                  : absl::StrCat("; the index must be from 0 to ", size - 1)));
  }
  if (pass.examples.empty()) {
    return absl::InvalidArgumentError("a pass requires at least one example");
  }
  // Restores the model's examples from before the first epoch, because batches
  // are planned from these examples.
  model.BeginEpoch(std::nullopt);
  const absl::Span<const LossTerm> terms = model.loss_terms();
  std::vector<double> denominators(terms.size());
  model.Denominators(pass.examples, absl::MakeSpan(denominators));
  Tape<float> tape;
  regard::Forward<float> forward(tape, std::as_const(model.parameters()),
                                 gradients);
  forward.BeginStep();
  tape.set_training(pass.step.has_value());
  tape.set_random({config().seed(), pass.step.value_or(0), pass.examples});
  if (configured_ != nullptr) {
    forward.set_hook(pass.step.has_value()
                         ? configured_->BeginUpdate(*pass.step)
                         : configured_->BeginEvaluation(step()));
  }
  std::optional<ScopedExtraHook<float>> watch;
  if (hook != nullptr) watch.emplace(forward, hook);
  std::vector<Var<float>> sums(terms.size());
  model.Loss(forward, pass.examples, denominators, absl::MakeSpan(sums));
  ForwardLosses losses;
  std::vector<double> seeds;
  for (size_t i = 0; i < terms.size(); ++i) {
    const double mean = static_cast<double>(sums[i].item()) / denominators[i];
    losses.terms[terms[i].name] = mean;
    losses.loss += terms[i].weight * mean;
    seeds.push_back(terms[i].weight / denominators[i]);
  }
  if (gradients != nullptr) forward.Backward(sums, seeds);
  return losses;
}

absl::StatusOr<TraceablePrediction<float>> Run::Trace(
    const PredictionRequest& request, const TraceOptions& options) const {
  return task_->Trace(*forward_, request, options);
}

}  // namespace regard
