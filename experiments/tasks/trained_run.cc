#include "experiments/tasks/trained_run.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "experiments/run/checkpoint.h"
#include "experiments/run/environment.h"
#include "experiments/run/metric.h"
#include "experiments/run/metrics_log.h"
#include "experiments/tasks/experiment_config.h"
#include "experiments/tasks/former_runs.h"
#include "files/file.h"
#include "nn/weights.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

absl::StatusOr<std::string> TrainedRun::ReadText(absl::string_view name) const {
  if (pretrained.has_value()) {
    const auto found = pretrained->files.find(std::string(name));
    if (found != pretrained->files.end()) return found->second;
    return absl::NotFoundError(absl::StrCat("error: ", path, " has no ", name));
  }
  REGARD_ASSIGN_OR_RETURN(std::string text,
                          EnsureErrorPrefix(ReadFile(JoinPath(path, name))));
  REGARD_RETURN_IF_ERROR(CheckRunFile(path, name, text));
  return text;
}

absl::Status TrainedRun::LoadWeightsInto(ParameterStore<float>& parameters,
                                         std::vector<std::string>* kept) {
  if (pretrained.has_value()) return pretrained->load_weights(parameters, kept);
  absl::Status loaded = LoadWeights(weights, parameters);
  for (int tries = 0; absl::IsNotFound(loaded) && tries < 10; ++tries) {
    REGARD_RETURN_IF_ERROR(UseNewestCheckpoint());
    loaded = LoadWeights(weights, parameters);
  }
  return EnsureErrorPrefix(loaded);
}

absl::Status TrainedRun::UseNewestCheckpoint() {
  REGARD_ASSIGN_OR_RETURN(FoundCheckpoints newest,
                          EnsureErrorPrefix(FindCheckpoints(path)));
  notes = std::move(newest.notes);
  if (newest.checkpoints.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("error: ", path,
                     " has no complete checkpoint, but one is required; "
                     "train the run until its first checkpoint"));
  }
  step = newest.checkpoints[0].step;
  weights = newest.checkpoints[0].ChosenWeightsPath();
  return absl::OkStatus();
}

namespace {

// Turns the name of a Hugging Face model folder into a valid name of an
// experiment.
std::string NameOf(absl::string_view folder) {
  folder = absl::StripSuffix(folder, "/");
  std::string name(folder.substr(folder.rfind('/') + 1).substr(0, 100));
  for (char& c : name) {
    if (!absl::ascii_isalnum(c) && c != '-') c = '_';
  }
  return name.empty() ? "_" : name;
}

// Returns the notes of `problems` that the overrides caused. The training
// program has printed the other notes.
absl::StatusOr<std::vector<std::string>> NotesOfOverrides(
    const ConfigPathOrText& source, const Plugins& plugins,
    const ConfigProblems& problems, absl::Span<const std::string> overrides) {
  std::vector<std::string> notes;
  if (overrides.empty()) return notes;
  Experiment config;
  REGARD_RETURN_IF_ERROR(ReadConfig(source, {}, &config).status());
  ConfigProblems without;
  ValidateExperiment(config, plugins, without);
  for (const std::string& note : problems.notes()) {
    if (std::ranges::count(without.notes(), note) == 0) notes.push_back(note);
  }
  return notes;
}

}  // namespace

absl::StatusOr<TrainedRun> OpenTrainedRun(
    absl::string_view run, const Plugins* plugins,
    absl::Span<const std::string> overrides) {
  if (run.empty()) {
    return absl::InvalidArgumentError(
        "error: --run=DIR must name the folder of a run; "
        "//experiments:train makes one");
  }
  TrainedRun trained;
  trained.path = ResolveUserPath(run);
  const std::string config = JoinPath(trained.path, "resolved.textproto");
  ConfigPathOrText source = {config, std::nullopt};
  const bool is_run =
      PathExists(config) || PathExists(JoinPath(trained.path, "run.json"));
  if (is_run || plugins == nullptr) {
    REGARD_RETURN_IF_ERROR(ReadRunDescription(trained.path).status());
    REGARD_ASSIGN_OR_RETURN(source.embedded,
                            EnsureErrorPrefix(ReadFile(config)));
  } else if (ContainsPretrainedModel(trained.path)) {
    REGARD_ASSIGN_OR_RETURN(trained.pretrained,
                            ReadPretrainedRun(trained.path, plugins->scorers));
    trained.notes = trained.pretrained->notes;
    source = {absl::StrCat(trained.path, ", as a config"),
              absl::StrCat("name: '", NameOf(trained.path), "'\n",
                           trained.pretrained->config)};
  } else {
    return absl::InvalidArgumentError(absl::StrCat(
        "error: ", trained.path,
        " is neither a run folder, which has run.json, nor a Hugging Face "
        "model folder, which has config.json"));
  }
  REGARD_ASSIGN_OR_RETURN(trained.origins,
                          ReadConfig(source, overrides, &trained.config));
  SetFormerTextVersion(source, &trained.config);
  std::vector<std::string> notes;
  if (plugins != nullptr) {
    SetFormerDefaults(source, plugins->scorers, &trained.config);
    ConfigProblems problems;
    ValidateExperiment(trained.config, *plugins, problems);
    REGARD_RETURN_IF_ERROR(LocateProblems(problems, trained.origins));
    REGARD_ASSIGN_OR_RETURN(
        notes, NotesOfOverrides(source, *plugins, problems, overrides));
  }
  if (!trained.pretrained.has_value()) {
    REGARD_RETURN_IF_ERROR(trained.UseNewestCheckpoint());
  }
  trained.notes.insert(trained.notes.end(), notes.begin(), notes.end());
  return trained;
}

namespace {

// Checks that the vocabularies and other files that the run stored equal the
// files of the task, because the weights depend on token ids. An average of
// checkpoints requires all files to be equal. If a Hugging Face model folder
// may have the differing file in another form, sets `task_text` instead of
// failing.
absl::Status CheckKeptFiles(const TrainedRun& run, const Task& task, bool mean,
                            std::optional<std::string>* task_text) {
  Environment kept;
  if (!run.pretrained.has_value()) {
    REGARD_ASSIGN_OR_RETURN(kept, ReadRunDigests(run.path));
  }
  for (const auto& [name, text] : task.Files()) {
    // Earlier versions stored fewer files.
    if (!kept.files.empty() && kept.files.count(name) == 0) continue;
    if (!mean && !task.WeightsDependOn(name)) continue;
    const absl::StatusOr<std::string> there = run.ReadText(name);
    if (there.ok() && *there == text) continue;
    if (run.pretrained.has_value() && name == run.pretrained->task_file) {
      *task_text = text;
      continue;
    }
    REGARD_RETURN_IF_ERROR(there.status());
    return absl::InvalidArgumentError(
        absl::StrCat(JoinPath(run.path, name),
                     " does not match the data of this config; use the data "
                     "with which the weights were trained"));
  }
  return absl::OkStatus();
}

// Removes the checkpoints for which the run has recorded no value of the
// metric. Sorts the remaining checkpoints, best first.
absl::Status SortByMetric(const MetricInfo& info, const std::string& metric,
                          const std::string& run_folder,
                          std::vector<CheckpointInfo>* checkpoints) {
  REGARD_ASSIGN_OR_RETURN(
      const std::vector<MetricsRecord> records,
      ReadMetricsLog(JoinPath(run_folder, "metrics.jsonl")));
  std::map<int64_t, double> values;
  for (const MetricsRecord& record : records) {
    const auto value = record.metrics.find(metric);
    // The last step may have a second record, which belongs to the weights that
    // the training chose.
    if (value != record.metrics.end() && !std::isnan(value->second)) {
      values.emplace(record.step, info.better == Better::kHigher
                                      ? value->second
                                      : -value->second);
    }
  }
  std::erase_if(*checkpoints, [&](const CheckpointInfo& checkpoint) {
    return values.count(checkpoint.step) == 0;
  });
  std::ranges::stable_sort(*checkpoints, std::greater(),
                           [&](const CheckpointInfo& checkpoint) {
                             return values[checkpoint.step];
                           });
  return absl::OkStatus();
}

// Returns the newest or the best checkpoints, as `config` requires, ordered by
// step. Sets `notes` to one sentence per damaged checkpoint.
absl::StatusOr<std::vector<CheckpointInfo>> CheckpointsOf(
    const InitialWeights& config, const Task& task,
    const std::string& run_folder, std::vector<std::string>* notes) {
  const auto count = static_cast<size_t>(config.average());
  const std::string& metric = config.metric();
  REGARD_ASSIGN_OR_RETURN(
      FoundCheckpoints found,
      FindCheckpoints(run_folder, metric.empty() ? count : SIZE_MAX));
  *notes = std::move(found.notes);
  std::vector<CheckpointInfo>& checkpoints = found.checkpoints;
  if (!metric.empty()) {
    REGARD_RETURN_IF_ERROR(SortByMetric(*FindMetric(task.metrics(), metric),
                                        metric, run_folder, &checkpoints));
  }
  if (checkpoints.size() < count) {
    return absl::InvalidArgumentError(absl::StrCat(
        run_folder, " has ", checkpoints.size(), " complete checkpoint",
        checkpoints.size() == 1 ? "" : "s",
        metric.empty() ? "" : absl::StrCat(" with ", metric),
        ", but `average` requires ", count,
        "; the `training.keep_checkpoints` of a run sets how many it keeps"));
  }
  checkpoints.resize(count);
  std::ranges::sort(checkpoints, {}, &CheckpointInfo::step);
  return std::move(checkpoints);
}

absl::Status LoadMean(const std::vector<CheckpointInfo>& checkpoints,
                      ParameterStore<float>& parameters) {
  const absl::Span<float> values = parameters.values();
  std::vector<double> sums(values.size(), 0);
  for (const CheckpointInfo& checkpoint : checkpoints) {
    REGARD_RETURN_IF_ERROR(LoadWeights(checkpoint.WeightsPath(), parameters));
    for (size_t i = 0; i < sums.size(); ++i) {
      sums[i] += static_cast<double>(values[i]);
    }
  }
  const auto count = static_cast<double>(checkpoints.size());
  for (size_t i = 0; i < sums.size(); ++i) {
    values[i] = static_cast<float>(sums[i] / count);
  }
  return absl::OkStatus();
}

absl::Status Load(const InitialWeights& config, const Plugins& plugins,
                  Task& task, std::vector<std::string>* notes) {
  REGARD_ASSIGN_OR_RETURN(TrainedRun run,
                          OpenTrainedRun(config.run(), &plugins));
  *notes = std::move(run.notes);
  std::optional<std::string> task_text;
  REGARD_RETURN_IF_ERROR(
      CheckKeptFiles(run, task, config.average() > 0, &task_text));
  if (config.random()) {
    if (run.pretrained.has_value()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        run.path,
        " is a run folder, but `random` requires a Hugging Face model folder"));
  }
  ParameterStore<float>& parameters = task.model().parameters();
  if (config.average() == 0) {
    std::vector<std::string> kept;
    REGARD_RETURN_IF_ERROR(
        task_text.has_value()
            ? run.pretrained->load_for_task(*task_text, parameters, &kept)
            : run.LoadWeightsInto(parameters, &kept));
    for (const std::string& name : kept) {
      notes->push_back(
          absl::StrCat(run.path, " has no '", name,
                       task_text.has_value() ? "' for this task" : "'",
                       ", which starts from its initial values"));
    }
    return absl::OkStatus();
  }
  REGARD_ASSIGN_OR_RETURN(const std::vector<CheckpointInfo> checkpoints,
                          CheckpointsOf(config, task, run.path, notes));
  return LoadMean(checkpoints, parameters);
}

}  // namespace

absl::StatusOr<std::vector<std::string>> LoadInitialWeights(
    const Training& training, const Plugins& plugins, Task& task,
    ConfigProblems& problems) {
  std::vector<std::string> notes;
  if (!training.has_initial_weights()) return notes;
  const absl::Status loaded =
      Load(training.initial_weights(), plugins, task, &notes);
  if (IsMachineFailure(loaded)) return EnsureErrorPrefix(loaded);
  if (!loaded.ok()) {
    problems.Add("training.initial_weights.run",
                 std::string(absl::StripPrefix(loaded.message(), "error: ")));
  }
  return notes;
}

}  // namespace regard
