#include "experiments/training/training_run.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "autodiff/tape.h"
#include "evaluation/statistics.h"
#include "experiments/report/reported_run.h"
#include "experiments/run/examples_file.h"
#include "experiments/run/metrics_log.h"
#include "experiments/tasks/experiment_config.h"
#include "experiments/tasks/former_runs.h"
#include "experiments/training/follower.h"
#include "experiments/training/run_extension.h"
#include "files/printable_text.h"
#include "files/sha256.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "optimization/interventions/configured_hook.h"
#include "options/reader.h"
#include "options/resolved.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

// Approximate number of lines of progress if the output is not a terminal.
constexpr int64_t kPlainLines = 20;

std::vector<MetricInfo> MetricsOf(Task& task) {
  std::vector<MetricInfo> metrics = task.metrics();
  for (MetricInfo& metric : TrainerMetrics(task.model())) {
    metrics.push_back(std::move(metric));
  }
  return metrics;
}

// Returns an error unless `differences` is empty. `differences` has one line
// per difference.
absl::Status CheckSame(const RunFolder& folder, absl::string_view what,
                       absl::string_view differences) {
  if (differences.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(folder.path(), ": error: the ", what, " differs from the ",
                   what, " of the run to resume:", differences));
}

// Compares `config` with the config of the run. Returns an error if a field has
// changed that must not change.
absl::StatusOr<PreviousConfigAndChanges> CompareConfig(
    const RunFolder& folder, const Plugins& plugins, const Experiment& config) {
  REGARD_ASSIGN_OR_RETURN(const std::string text,
                          EnsureErrorPrefix(folder.Read("resolved.textproto")));
  REGARD_ASSIGN_OR_RETURN(
      const Experiment stored,
      ReadFormerConfig({folder.File("resolved.textproto"), text},
                       plugins.scorers, config));
  PreviousConfigAndChanges extension = {.before = stored};
  const auto may_change = FieldsThatMayChange();
  std::string differences;
  // Compares resolved configs, which contain the defaults of this version.
  for (const FieldDifference& difference :
       DiffResolvedFields(ResolvedFields(stored), ResolvedFields(config))) {
    // Notes and tags have no effect on results.
    if (difference.path == "note" || difference.path == "tags") continue;
    if (std::ranges::count(may_change, difference.path) > 0) {
      extension.paths.push_back(difference.path);
      continue;
    }
    absl::StrAppend(&differences, "\n  ", difference.path, ": ",
                    difference.before, " in the run, ", difference.after,
                    " now");
  }
  if (!differences.empty()) {
    absl::StrAppend(&differences, "\nonly these fields may change: ",
                    absl::StrJoin(may_change, ", "));
  }
  REGARD_RETURN_IF_ERROR(CheckSame(folder, "config", differences));
  return extension;
}

// Returns an error if the data files, or files that the run made from them,
// have changed.
absl::Status CheckSameData(const RunFolder& folder,
                           const std::map<std::string, std::string>& digests) {
  REGARD_ASSIGN_OR_RETURN(const Environment before,
                          ReadRunDigests(folder.path()));
  std::string differences;
  for (const auto& [name, digest] : digests) {
    const auto found = before.data.find(name);
    const std::string known =
        found == before.data.end() ? "unknown" : found->second;
    if (known == digest) continue;
    absl::StrAppend(&differences, "\n  ", name, ": SHA-256 ", known,
                    " in the run, ", digest, " now");
  }
  return CheckSame(folder, "data", differences);
}

// Returns a digest of the config and the data.
std::string RunId(const Experiment& config,
                  const std::map<std::string, std::string>& digests) {
  Sha256 sha256;
  for (const ResolvedField& field : ResolvedFields(config)) {
    sha256.Update(absl::StrCat(field.path, "=", field.value, "\n"));
  }
  for (const auto& [name, digest] : digests) {
    sha256.Update(absl::StrCat(name, ": ", digest, "\n"));
  }
  return sha256.HexDigest();
}

// Writes the files of the task that are missing in the folder. If a file
// differs, returns an error and writes nothing.
absl::Status RestoreTaskFiles(const RunFolder& folder, const Task& task) {
  std::vector<std::string> missing;
  const std::map<std::string, std::string> files = task.Files();
  for (const auto& [name, text] : files) {
    const absl::StatusOr<std::string> found = folder.Read(name);
    if (found.status().code() == absl::StatusCode::kNotFound) {
      missing.push_back(name);
    } else if (!found.ok()) {
      return EnsureErrorPrefix(found.status());
    } else if (*found != text) {
      return absl::InvalidArgumentError(
          absl::StrCat(folder.File(name),
                       ": error: does not match the data of the run to resume; "
                       "remove the file to have it written again"));
    }
  }
  for (const std::string& name : missing) {
    std::fprintf(stderr, "%s was missing: written again\n",
                 folder.File(name).c_str());
    REGARD_RETURN_IF_ERROR(folder.Write(name, files.at(name)));
  }
  return absl::OkStatus();
}

// Returns an error if the run has saved checkpoints but they are missing.
// Starting again would overwrite its metrics.
absl::Status RefuseLostCheckpoints(const RunFolder& folder) {
  const absl::StatusOr<RunStatus> status =
      ReadStatus(folder.File("status.json"));
  if (IsMachineFailure(status.status())) return status.status();
  if (!status.ok() || status->step == 0 ||
      (status->state != RunState::kFinished &&
       status->state != RunState::kInterrupted)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      folder.path(), ": error: the run is ", StateName(status->state),
      " at step ", status->step,
      ", but all its checkpoints are missing; restore its checkpoints/, or "
      "train again in a new folder with --config=",
      folder.File("resolved.textproto")));
}

std::string EvaluationLine(const EvaluatedModel& evaluated) {
  std::string line = absl::StrCat("epoch ", evaluated.epoch);
  for (const auto& [name, value] : evaluated.metrics) {
    absl::StrAppend(&line, "  ", name, " ", value);
  }
  return line;
}

}  // namespace

TrainingRun::TrainingRun(LoadedConfig loaded, RunFolder folder,
                         PreparedTask fitting)
    : loaded_(std::move(loaded)),
      folder_(std::move(folder)),
      task_(std::move(fitting.task)),
      notes_(std::move(fitting.notes)),
      digests_(DataDigests(loaded_.config.training(), *task_)),
      metrics_(MetricsOf(*task_)) {}

absl::Status TrainingRun::LockAndRecordCheckpointFolder(
    const std::string& checkpoints) {
  std::string path = ResolveUserPath(checkpoints);
  if (path.empty()) {
    if (!PathExists(folder_.File(kCheckpointRecord))) return absl::OkStatus();
    REGARD_ASSIGN_OR_RETURN(path, CheckpointFolderForWriting(folder_.path()));
  }
  std::error_code unknown;
  if (std::filesystem::equivalent(path, folder_.path(), unknown)) {
    return absl::InvalidArgumentError(
        "--checkpoints: error: must not name the run folder; name another "
        "folder, or omit the flag to use checkpoints/ in the run folder");
  }
  REGARD_ASSIGN_OR_RETURN(RunFolder opened,
                          RunFolder::Open({.path = path, .resume = true}));
  checkpoint_folder_.emplace(std::move(opened));
  if (checkpoints.empty()) return absl::OkStatus();
  return RecordCheckpointFolder(folder_.path(), path,
                                RunId(loaded_.config, digests_));
}

absl::Status TrainingRun::WriteRunFilesExceptConfig() const {
  Environment environment = BuildEnvironment();
  environment.provenance = provenance_;
  environment.data = digests_;
  for (const auto& [name, text] : task_->Files()) {
    REGARD_RETURN_IF_ERROR(folder_.Write(name, text));
    environment.files[name] = Sha256Hex(text);
  }
  REGARD_RETURN_IF_ERROR(
      folder_.Write("environment.json", EnvironmentJson(environment)));
  if (!notes_.empty()) {
    REGARD_RETURN_IF_ERROR(folder_.Write(
        "notes.txt", absl::StrCat(absl::StrJoin(notes_, "\n"), "\n")));
  }
  return WriteDescription();
}

absl::Status TrainingRun::WriteDescription() const {
  return folder_.Write(
      "run.json",
      RunDescriptionJson(metrics_, task_->TrainingDataNumbersToStore()));
}

absl::Status TrainingRun::Prepare(bool resume, const std::string& checkpoints,
                                  const Provenance& provenance,
                                  const Plugins& plugins,
                                  absl::Span<const std::string> told) {
  provenance_ = provenance;
  for (const std::string& note : notes_) {
    if (std::ranges::count(told, note) > 0) continue;
    std::fprintf(stderr, "note: %s\n", PrintableText(note).c_str());
  }
  const bool begun = folder_.has_begun();
  PreviousConfigAndChanges extension;
  if (begun) {
    REGARD_RETURN_IF_ERROR(ReadRunDescription(folder_.path()).status());
    REGARD_ASSIGN_OR_RETURN(extension,
                            CompareConfig(folder_, plugins, loaded_.config));
    REGARD_RETURN_IF_ERROR(CheckSameData(folder_, digests_));
  }
  if (!begun) REGARD_RETURN_IF_ERROR(CheckConfigNotLost(folder_.path()));
  REGARD_RETURN_IF_ERROR(LockAndRecordCheckpointFolder(checkpoints));
  if (!begun) {
    if (resume || folder_.holds_run()) {
      std::fprintf(stderr, "%s %s: starting at step 0\n",
                   folder_.path().c_str(),
                   folder_.holds_run() ? "stopped before training began"
                                       : "holds no run to resume");
    }
    REGARD_RETURN_IF_ERROR(
        folder_.Write("config.textproto", loaded_.origins.main_text().text()));
    REGARD_RETURN_IF_ERROR(WriteRunFilesExceptConfig());
    return folder_.Write("resolved.textproto", loaded_.resolved);
  }
  REGARD_RETURN_IF_ERROR(CleanUpCheckpoints(folder_.path(), SystemFiles()));
  REGARD_ASSIGN_OR_RETURN(
      const FoundCheckpoints latest,
      FindCheckpoints(folder_.path(), extension.paths.empty() ? 1 : SIZE_MAX));
  for (const std::string& note : latest.notes) {
    std::fprintf(stderr, "%s\n", note.c_str());
  }
  if (latest.checkpoints.empty()) {
    REGARD_RETURN_IF_ERROR(RefuseLostCheckpoints(folder_));
    std::fprintf(stderr, "%s has no complete checkpoint: starting at step 0\n",
                 folder_.path().c_str());
    // Does not write the text of the config again, because it may have been
    // read from this folder.
    REGARD_RETURN_IF_ERROR(WriteRunFilesExceptConfig());
    return Extend(extension, plugins);
  }
  checkpoint_ = latest.checkpoints[0];
  if (!extension.paths.empty()) {
    REGARD_ASSIGN_OR_RETURN(
        checkpoint_,
        FindExtensibleCheckpoint(
            latest.checkpoints, extension,
            ComputeStepCountChange(extension.before, loaded_.config,
                                   task_->model())));
  }
  REGARD_RETURN_IF_ERROR(PruneCheckpoints(
      folder_.path(), checkpoint_->step,
      loaded_.config.training().keep_checkpoints(), SystemFiles()));
  REGARD_RETURN_IF_ERROR(RestoreTaskFiles(folder_, *task_));
  REGARD_RETURN_IF_ERROR(Extend(extension, plugins));
  std::fprintf(stderr, "resuming at step %s\n",
               absl::StrCat(checkpoint_->step).c_str());
  return absl::OkStatus();
}

absl::Status TrainingRun::Extend(const PreviousConfigAndChanges& extension,
                                 const Plugins& plugins) const {
  if (extension.paths.empty()) return absl::OkStatus();
  const int64_t step = checkpoint_.has_value() ? checkpoint_->step : 0;
  REGARD_ASSIGN_OR_RETURN(const std::string before,
                          folder_.Read("resolved.textproto"));
  const std::string former =
      absl::StrCat("resolved.until-step-", step, ".textproto");
  // The file exists if the run was extended before without training further
  // steps.
  if (!PathExists(folder_.File(former))) {
    REGARD_RETURN_IF_ERROR(folder_.Write(former, before));
  }
  // Removes the checkpoints that ended the run at its old length. If the
  // program is killed here, the run with the old config trains to its end
  // again. With the new config, these checkpoints would look like the end of
  // the longer run.
  REGARD_RETURN_IF_ERROR(
      RemoveCheckpointsAfter(folder_.path(), step, SystemFiles()));
  REGARD_RETURN_IF_ERROR(folder_.Write(
      "resolved.textproto",
      ReplaceResolvedFields(before, loaded_.resolved, extension.paths)));
  std::fprintf(stderr, "note: %s changed; the config so far is in %s\n",
               absl::StrJoin(extension.paths, ", ").c_str(),
               folder_.File(former).c_str());
  const std::string note = ScheduleNote(
      loaded_.config, plugins, step,
      ComputeStepCountChange(extension.before, loaded_.config, task_->model()));
  if (!note.empty()) std::fprintf(stderr, "note: %s\n", note.c_str());
  return absl::OkStatus();
}

absl::Status TrainingRun::End(RunState state) {
  status_.state = state;
  REGARD_RETURN_IF_ERROR(folder_.CheckNotMoved());
  return WriteStatus(folder_.path(), status_);
}

absl::Status TrainingRun::ReadExamplesAndBootstrap(
    const Aggregates& aggregates) {
  const std::string path = folder_.File("examples.jsonl");
  // The file is missing if an earlier version trained the run.
  if (!PathExists(path)) return absl::OkStatus();
  REGARD_ASSIGN_OR_RETURN(sets_, ReadExamples(path, aggregates));
  status_.confidence = BootstrapConfidence(sets_, loaded_.config.seed());
  return absl::OkStatus();
}

TrainingCallbacks TrainingRun::MakeCallbacks(FileWriter& log,
                                             Progress& progress,
                                             TrainingEvents* events) const {
  TrainingCallbacks callbacks;
  callbacks.updated = [&progress](const StepMeasurements& update) {
    progress.Update(update);
  };
  callbacks.recorded = [&log, events](const MetricsRecord& record) {
    const absl::Status appended = log.Append(MetricsLine(record));
    if (!appended.ok() || events == nullptr) return appended;
    return events->OnMetrics(record);
  };
  callbacks.evaluated = [this, &progress, events](
                            const EvaluatedModel& evaluated) -> absl::Status {
    if (evaluated.final) {
      // Writes examples.jsonl before the last checkpoint, so that every
      // finished run has the file.
      REGARD_RETURN_IF_ERROR(
          folder_.Write("examples.jsonl", ExamplesText(evaluated.sets)));
    } else if (!evaluated.metrics.empty()) {
      progress.Message(EvaluationLine(evaluated));
      REGARD_RETURN_IF_ERROR(folder_.Write(
          "status.json",
          StatusJson({.step = evaluated.step, .metrics = evaluated.metrics})));
    }
    return events != nullptr ? events->OnEvaluation(evaluated)
                             : absl::OkStatus();
  };
  callbacks.checkpointed =
      [this, &log](const CheckpointContent& content) -> absl::Status {
    REGARD_RETURN_IF_ERROR(folder_.CheckNotMoved());
    // Syncs the records of a step before saving its checkpoint.
    REGARD_RETURN_IF_ERROR(log.Sync());
    return SaveCheckpoint(folder_.path(), content,
                          loaded_.config.training().keep_checkpoints(),
                          SystemFiles());
  };
  return callbacks;
}

absl::StatusOr<int> TrainingRun::Train(const TrainerOptions& options,
                                       const Plugins& plugins,
                                       const RunPresenter* presenter) {
  BroadcastStart(folder_.path(), checkpoint_, options.ranks);
  const std::string log_path = folder_.File("metrics.jsonl");
  Trainer trainer(loaded_.config, *task_, plugins, options);
  const int64_t total = trainer.total_steps();
  if (checkpoint_.has_value()) {
    REGARD_RETURN_IF_ERROR(trainer.Restore(*checkpoint_));
  }
  REGARD_ASSIGN_OR_RETURN(
      FileWriter log,
      checkpoint_.has_value()
          ? ResumeMetricsLog(log_path, checkpoint_->step, SystemFiles(),
                             trainer.restored_records())
          : FileWriter::Create(log_path));
  const bool was_over = trainer.finished();
  if (!was_over) {
    REGARD_ASSIGN_OR_RETURN(
        const std::vector<std::string> differences,
        RecordProcessStart(folder_.path(), trainer.step(), provenance_));
    for (const std::string& difference : differences) {
      std::fprintf(
          stderr,
          "note: this program differs from the one that trained the run "
          "so far: %s\n",
          PrintableText(difference).c_str());
    }
  }
  std::unique_ptr<TrainingEvents> events;
  // Omits events if times must be omitted, because they contain times. A
  // finished run has no further events.
  if (presenter != nullptr && !options.omit_times && !was_over) {
    StartedRun run = {.folder = folder_,
                      .total_steps = total,
                      .config = loaded_.config,
                      .task = *task_,
                      .metrics = metrics_};
    if (checkpoint_.has_value()) run.resumed_step = checkpoint_->step;
    REGARD_ASSIGN_OR_RETURN(events, presenter->BeginEvents(run));
  }
  // Does not change the files of a finished run, even if they are damaged.
  if (was_over) {
    REGARD_RETURN_IF_ERROR(ReadExamplesAndBootstrap(plugins.aggregates));
  } else if (checkpoint_.has_value()) {
    // An earlier version, which measured fewer metrics, may have written the
    // description.
    REGARD_RETURN_IF_ERROR(WriteDescription());
  }
  REGARD_RETURN_IF_ERROR(WriteStatus(
      folder_.path(), {.step = trainer.step(), .metrics = trainer.metrics()}));
  Progress progress(total, std::max<int64_t>(total / kPlainLines, 1),
                    ProgressToStandardError());
  absl::StatusOr<int> stopped_by =
      trainer.Run(MakeCallbacks(log, progress, events.get()));
  progress.Finish();
  std::fputs(trainer.Profile().c_str(), stderr);
  const bool interrupted = stopped_by.ok() && *stopped_by != 0;
  if (events != nullptr && !interrupted) {
    const absl::Status ended = events->End(stopped_by.ok(), trainer.step());
    if (stopped_by.ok() && !ended.ok()) stopped_by = ended;
  }
  status_.step = trainer.step();
  status_.metrics = trainer.metrics();
  if (!was_over) {
    const absl::Status ended = RecordProcessEnd(folder_.path(), trainer.step());
    if (stopped_by.ok() && !ended.ok()) stopped_by = ended;
  }
  if (stopped_by.ok()) {
    status_.signatures = task_->Signatures();
    status_.weights_digest = trainer.LastWeightsDigest();
    if (interrupted) {
      REGARD_RETURN_IF_ERROR(End(RunState::kInterrupted));
    } else if (!was_over) {
      const absl::Status read = ReadExamplesAndBootstrap(plugins.aggregates);
      if (!read.ok()) stopped_by = read;
    }
  }
  // Returns the first error, not an error of End().
  if (!stopped_by.ok()) End(RunState::kFailed).IgnoreError();
  return stopped_by;
}

absl::StatusOr<std::string> TrainingRun::WriteReportAndGetText(
    const RunPresenter& presenter, const TrainingRun* baseline) const {
  Tape<float> tape;
  Forward<float> forward(tape, task_->model().parameters(), nullptr);
  const Experiment& config = loaded_.config;
  ConfiguredHook<float> hook({config.intervene(), config.probe()},
                             config.seed());
  forward.set_hook(hook.BeginEvaluation(step()));
  ReportedRun report;
  report.name = loaded_.config.name();
  report.showcase = task_->Show(forward, /*final=*/true);
  report.metric_infos = metrics_;
  report.metrics = status_.metrics;
  report.sets = FinalSets(sets_);
  if (baseline != nullptr) {
    report.baseline_name = loaded_.config.baseline().name();
    report.baseline_metrics = baseline->status_.metrics;
    report.baseline_sets = FinalSets(baseline->sets_);
  }
  report.confidence = status_.confidence;
  report.seed = loaded_.config.seed();
  report.notes = notes_;
  REGARD_ASSIGN_OR_RETURN(report.records,
                          ReadMetricsLog(folder_.File("metrics.jsonl")));
  // Reads the file, because a resumed run may have read its config from this
  // file.
  REGARD_ASSIGN_OR_RETURN(report.resolved_config,
                          folder_.Read("resolved.textproto"));
  return presenter.WriteReportAndGetText(folder_, std::move(report));
}

}  // namespace regard
