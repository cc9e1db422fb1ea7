#include "experiments/tasks/experiment_config.h"

#include <algorithm>
#include <any>
#include <cctype>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "experiments/tasks/config_precision.h"
#include "experiments/tasks/folder_config.h"
#include "experiments/tasks/former_runs.h"
#include "experiments/tasks/loss_metric.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "optimization/interventions/site_requests.h"
#include "optimization/optimizer_registry.h"
#include "optimization/schedule.h"
#include "options/name_suggestion.h"
#include "options/option_registry.h"
#include "options/resolved.h"
#include "seq2seq/seq2seq_validation.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

using ::google::protobuf::Descriptor;
using ::google::protobuf::DescriptorPool;
using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::OneofDescriptor;

namespace {

using FieldScope = ConfigProblems::Scope;

constexpr char kOutside[] = "outside";

// Returns the name with which a config selects a plug-in in the only oneof of
// Config, such as "phrasebook" or "outside.[lab.my_data]".
template <typename Config, typename Info>
std::string NameOf(const PluginRegistry<Config, Info>&, const Info& info) {
  const Descriptor* type = info.default_options->GetDescriptor();
  const OneofDescriptor& choice = *Config::descriptor()->oneof_decl(0);
  for (int i = 0; i < choice.field_count(); ++i) {
    const FieldDescriptor* member = choice.field(i);
    if (member->message_type() == type) return std::string(member->name());
    if (member->name() != kOutside) continue;
    std::vector<const FieldDescriptor*> extensions;
    DescriptorPool::generated_pool()->FindAllExtensions(member->message_type(),
                                                        &extensions);
    for (const FieldDescriptor* extension : extensions) {
      if (extension->message_type() != type) continue;
      return absl::StrCat(kOutside, ".[", std::string(extension->full_name()),
                          "]");
    }
  }
  return std::string(type->full_name());
}

template <typename Registry, typename Fits>
std::string NamesOf(const Registry& registry, Fits fits) {
  std::vector<std::string> names;
  for (const auto& info : registry.plugins()) {
    if (fits(info)) names.push_back(NameOf(registry, info));
  }
  std::sort(names.begin(), names.end());
  return names.empty() ? "none" : absl::StrJoin(names, ", ");
}

void ValidatePath(const Data& config, const DataSourceInfo& source,
                  const DataSourceRegistry& sources, ConfigProblems& problems) {
  const std::string name = NameOf(sources, source);
  const DataPathRequirement path = source.path(*sources.ChosenOptions(config));
  if (config.has_dev_path() && config.dev_path().empty()) {
    problems.Add("dev_path", "must name a file or be left out");
  }
  if (config.has_path() && config.path().empty()) {
    problems.Add("path", "must name a file or be left out");
    return;
  }
  if (path == DataPathRequirement::kRequired && !config.has_path()) {
    problems.Add("", absl::StrCat("`", name,
                                  "` requires data.path: set it in the "
                                  "config or with --set data.path=FILE"));
  }
  if (!source.reads_dev_path && config.has_dev_path()) {
    const auto reads_dev_path = [](const auto& info) {
      return info.reads_dev_path;
    };
    problems.Add("dev_path",
                 absl::StrCat("is not read by `", name,
                              "`; remove it, or use data that reads it: ",
                              NamesOf(sources, reads_dev_path)));
  }
  if (path != DataPathRequirement::kNone || !config.has_path()) return;
  const auto reads_a_file = [](const auto& info) {
    const DataPathRequirement path = info.path(*info.default_options);
    return path == DataPathRequirement::kRequired ||
           path == DataPathRequirement::kOptional;
  };
  if (reads_a_file(source)) {
    problems.Add("path", absl::StrCat("`", name,
                                      "` has fields for its files; set either "
                                      "these fields or data.path"));
    return;
  }
  problems.Add("path", absl::StrCat("does not apply to generated data; remove "
                                    "it, or use data that reads a file: ",
                                    NamesOf(sources, reads_a_file)));
}

// Adds the problems of the data and of the model, and an error if the task does
// not match the data.
void ValidateDataAndModel(const Experiment& config, const TaskInfo* task,
                          const Plugins& plugins, ConfigProblems& problems) {
  const std::string model = task == nullptr ? "" : NameOf(plugins.tasks, *task);
  if (task != nullptr && config.has_search() && !task->searches) {
    problems.Note("search",
                  absl::StrCat("has no effect: `", model, "` does not search"));
  }
  const DataSourceInfo* source = plugins.data.Find(config.data());
  {
    const FieldScope scope(problems, "data");
    problems.CheckOwnRanges(config.data());
    plugins.data.ValidateChoice(config.data(), problems);
    if (source != nullptr) {
      ValidatePath(config.data(), *source, plugins.data, problems);
    }
  }
  const FieldScope scope(problems, "model");
  const TaskContext context{config, plugins.scorers};
  plugins.tasks.ValidateChoice(config.model(), problems, context);
  if (task == nullptr) return;
  // Rejects members of ModelConfig that the task does not read.
  std::vector<const FieldDescriptor*> present;
  config.model().GetReflection()->ListFields(config.model(), &present);
  for (const FieldDescriptor* field : present) {
    const std::string name(field->name());
    if (field->containing_oneof() == nullptr &&
        std::count(task->model_fields.begin(), task->model_fields.end(),
                   name) == 0) {
      problems.Add(name,
                   absl::StrCat("does not apply to `", model, "`; remove it"));
    }
  }
  task->validate_model_fields(context, problems);
  // Compares the types, because two types may have the same name. Casting the
  // data to another type would fail.
  if (source == nullptr || *source->data_type == *task->data_type) return;
  const std::string data = NameOf(plugins.data, *source);
  const auto fits_model = [&](const auto& info) {
    return *info.data_type == *task->data_type;
  };
  const auto fits_data = [&](const auto& info) {
    return *info.data_type == *source->data_type;
  };
  problems.Add(
      model,
      absl::StrCat(
          "learns from ", task->data, ", but data.", data, " provides ",
          source->data == task->data ? "another type that is called " : "",
          source->data,
          ". Data for this model: ", NamesOf(plugins.data, fits_model),
          ". Models for this data: ", NamesOf(plugins.tasks, fits_data)));
}

void ValidateName(const Experiment& config, ConfigProblems& problems) {
  const std::string& name = config.name();
  const bool plain = !name.empty() && name.size() <= 100 &&
                     std::all_of(name.begin(), name.end(), [](unsigned char c) {
                       return std::isalnum(c) != 0 || c == '-' || c == '_';
                     });
  if (!plain) {
    problems.Add("name",
                 "must have 1 to 100 characters, each a letter, a digit, '-' "
                 "or '_': it names the run folder");
  }
}

// Returns the metric with this name. If the task has no such metric, adds a
// problem about `subject` at `path` and returns null. Does not check whether
// evaluations on dev measure the metric, which depends on the data; see
// ValidateWatchedMetrics().
const MetricInfo* FindOnDev(const std::string& name, const TaskInfo& task,
                            absl::string_view path, absl::string_view subject,
                            ConfigProblems& problems) {
  std::vector<std::string> known;
  for (const MetricInfo& metric : task.metrics) {
    known.push_back(absl::StrCat("dev/", metric.name));
    if (known.back() == name) return &metric;
  }
  problems.Add(path, absl::StrCat(subject, " is not a metric on dev",
                                  SuggestName(name, known)));
  return nullptr;
}

void NoteMissingEvaluations(const Training& training,
                            ConfigProblems& problems) {
  if (training.evaluate_every() > 0) return;
  problems.Note(
      "", "has no effect without evaluations: `training.evaluate_every` is 0");
}

// Checks that the task has the metric that the schedule requires.
void ValidateSchedule(const Experiment& config, const TaskInfo& task,
                      const Plugins& plugins, ConfigProblems& problems) {
  const FieldScope scope(problems, "schedule");
  const ScheduleConfig& schedule = config.optimizer().schedule();
  const std::unique_ptr<Schedule> made = plugins.schedules.Create(schedule, {});
  const std::string name = made->metric();
  if (name.empty()) return;
  NoteMissingEvaluations(config.training(), problems);
  const MetricInfo* const metric = FindOnDev(
      name, task, "", absl::StrCat("monitors ", name, ", which"), problems);
  if (metric == nullptr) return;
  const bool higher = metric->better == Better::kHigher;
  if (schedule.has_reduce_on_plateau() &&
      schedule.reduce_on_plateau().higher_is_better() != higher) {
    problems.Add("reduce_on_plateau.higher_is_better",
                 absl::StrCat("must be ", higher ? "true" : "false", ": ",
                              higher ? "higher" : "lower", " values of ", name,
                              " are better"));
  }
}

// Checks a field that selects weights by a metric on dev.
void ValidateChoice(const std::string& name, const TaskInfo* task,
                    ConfigProblems& problems) {
  if (task == nullptr) return;
  const MetricInfo* const metric =
      FindOnDev(name, *task, "metric", name, problems);
  if (metric != nullptr && metric->better == Better::kNeither) {
    problems.Add("metric",
                 absl::StrCat("cannot be ", name,
                              ": neither higher nor lower values of it are "
                              "better; choose another metric"));
  }
}

void ValidateInitialWeights(const InitialWeights& weights, const TaskInfo* task,
                            ConfigProblems& problems) {
  const FieldScope scope(problems, "initial_weights");
  if (weights.run().empty()) {
    problems.Add("run",
                 "must name a run folder or a Hugging Face model folder");
  }
  if (weights.random() && weights.average() > 0) {
    problems.Add("random",
                 "cannot be set together with `average`: `random` loads no "
                 "weights; remove one of them");
  }
  if (weights.metric().empty()) return;
  if (weights.average() == 0) {
    problems.Note("metric",
                  "has no effect unless `average` is set: it chooses the "
                  "checkpoints to average");
  }
  ValidateChoice(weights.metric(), task, problems);
}

void ValidateEarlyStopping(const Training& training, const TaskInfo* task,
                           ConfigProblems& problems) {
  const EarlyStopping& stopping = training.early_stopping();
  const FieldScope scope(problems, "early_stopping");
  NoteMissingEvaluations(training, problems);
  ValidateChoice(stopping.metric(), task, problems);
}

void ValidateTraining(const Training& training, const TaskInfo* task,
                      ConfigProblems& problems) {
  const FieldScope scope(problems, "training");
  problems.CheckRanges(training);
  if (training.ema_decay() > 0 && training.average() > 0) {
    problems.Add("ema_decay",
                 "cannot be set together with `average`: both average the "
                 "weights; remove one of them");
  }
  if (training.average() > 0 && training.evaluate_every() == 0) {
    problems.Note("average",
                  "has no effect without evaluations: `evaluate_every` is 0");
  }
  if (training.batch_tokens() > 0 && !training.group_by_length()) {
    problems.Note("batch_tokens",
                  "has no effect without `group_by_length: true`; batches have "
                  "`batch_size` examples");
  }
  const int default_step = Training::default_instance().length_step();
  if (training.length_step() != default_step && !training.group_by_length()) {
    problems.Note("length_step",
                  "has no effect without `group_by_length: true`");
  }
  if (training.has_early_stopping()) {
    ValidateEarlyStopping(training, task, problems);
  }
  if (training.has_initial_weights()) {
    ValidateInitialWeights(training.initial_weights(), task, problems);
  }
}

}  // namespace

void ValidateExperiment(const Experiment& config, const Plugins& plugins,
                        ConfigProblems& problems) {
  const TaskInfo* task = plugins.tasks.Find(config.model());
  ValidateName(config, problems);
  {
    const FieldScope scope(problems, "search");
    ValidateSearch(config.search(), problems);
  }
  problems.CheckOwnRanges(config);
  ValidateDataAndModel(config, task, plugins, problems);
  {
    const FieldScope scope(problems, "loss");
    problems.RequirePositive("scale", config.loss().scale());
    problems.CheckRanges(config.loss());
  }
  {
    const FieldScope scope(problems, "optimizer");
    const size_t others = problems.problems().size();
    ValidateOptimizer(config.optimizer(), plugins.optimizers, plugins.schedules,
                      problems);
    // Constructing a schedule requires valid options.
    if (task != nullptr && problems.problems().size() == others) {
      ValidateSchedule(config, *task, plugins, problems);
    }
  }
  ValidateTraining(config.training(), task, problems);
  ValidateSiteRequests({config.intervene(), config.probe()}, problems);
  if (config.precision() == FLOAT32 && config.keep_float32_size() > 0) {
    problems.Note("keep_float32",
                  "has no effect: only BFLOAT16_PRODUCTS rounds operands");
  }
}

namespace {

// Validates the config that was read, and writes the resolved config.
absl::Status ValidateAndResolve(const Plugins& plugins, LoadedConfig& loaded) {
  ConfigProblems problems;
  ReplaceLossMetric(plugins, loaded.config, problems);
  ValidateExperiment(loaded.config, plugins, problems);
  REGARD_RETURN_IF_ERROR(LocateProblems(problems, loaded.origins));
  loaded.notes.assign(problems.notes().begin(), problems.notes().end());
  loaded.resolved = ResolvedConfig(loaded.config, loaded.origins);
  if (loaded.resolved.size() <= kMaxConfigBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(loaded.origins.Diagnostic(
      "", absl::StrCat("with every default written out, the config has ",
                       loaded.resolved.size(), " bytes, but the maximum is ",
                       kMaxConfigBytes)));
}

}  // namespace

absl::StatusOr<LoadedConfig> LoadConfig(const ConfigPathOrText& source,
                                        absl::Span<const std::string> overrides,
                                        const Plugins& plugins) {
  return LoadConfigWith(source, OverrideTexts(overrides), plugins);
}

absl::StatusOr<LoadedConfig> LoadConfigWith(
    const ConfigPathOrText& source,
    absl::Span<const ConfigTextWithOrigin> overrides, const Plugins& plugins) {
  LoadedConfig loaded;
  REGARD_ASSIGN_OR_RETURN(loaded.origins,
                          ReadConfigWith(source, overrides, &loaded.config));
  SetFormerDefaults(source, plugins.scorers, &loaded.config);
  REGARD_RETURN_IF_ERROR(
      MergeOverFolderConfig(plugins.scorers, &loaded.config, &loaded.origins));
  SetFormerTextVersion(source, &loaded.config);
  REGARD_RETURN_IF_ERROR(ValidateAndResolve(plugins, loaded));
  return loaded;
}

absl::Status LoadBaseline(const Plugins& plugins, LoadedConfig& run) {
  if (run.config.baseline().override_size() == 0) return absl::OkStatus();
  auto baseline = std::make_shared<LoadedConfig>(run);
  std::vector<ConfigTextWithOrigin> overrides;
  for (const Override& change : run.config.baseline().override()) {
    overrides.push_back(ConfigTextWithOrigin::Override(
        absl::StrCat(change.path(), "=", change.value()),
        run.origins.OriginWithColumn(
            absl::StrCat("baseline.override[", overrides.size(), "]"))));
  }
  REGARD_RETURN_IF_ERROR(
      ApplyOverrides(overrides, &baseline->config, &baseline->origins));
  baseline->config.clear_baseline();
  REGARD_RETURN_IF_ERROR(ValidateAndResolve(plugins, *baseline));
  run.baseline = std::move(baseline);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Task>> BuildTask(
    const Experiment& config, const Plugins& plugins,
    const ReadRunFile& read_run_file, bool finalize) {
  REGARD_ASSIGN_OR_RETURN(
      std::any data,
      plugins.data.Create(config.data())
          ->LoadAny({.path = config.data().path(),
                     .dev_path = config.data().dev_path(),
                     .seed = config.seed(),
                     .text_version = config.data().text_version(),
                     .read_run_file = read_run_file}));
  std::unique_ptr<Task> task =
      plugins.tasks.Create(config.model(), std::move(data),
                           TaskContext{config, plugins.scorers, finalize});
  SetPrecision(config, task->model());
  return task;
}

void ValidateTask(Task& task, const Experiment& config,
                  ConfigProblems& problems) {
  task.ValidateData(problems);
  if (const std::string& problem = task.model().parameters().problem();
      !problem.empty()) {
    problems.Add("model", problem);
  }
  if (task.model().couples_examples() && config.num_shards() > 1) {
    problems.Add("num_shards",
                 absl::StrCat("must be 1 for a loss that couples the examples "
                              "of a batch, got ",
                              config.num_shards()));
  }
  // Skips this check for invalid data, which might not fit the model.
  if (problems.ok()) ValidateFullPrecision(task.model(), config, problems);
  const Model<float>& model = task.model();
  if (config.training().group_by_length() && model.num_examples() > 0 &&
      model.Lengths(0) == SequenceLengths()) {
    problems.Note("training.group_by_length",
                  "has no effect: all examples have the same length");
  } else if (config.training().group_by_length() &&
             config.training().examples_per_epoch() > 0) {
    problems.Note("training.examples_per_epoch",
                  "has no effect with `group_by_length`: an epoch has all "
                  "examples; to end a run early, use `training.max_updates`");
  }
}

void ValidateWatchedMetrics(const Task& task, const Experiment& config,
                            const Plugins& plugins, ConfigProblems& problems) {
  std::vector<std::string> measured;
  for (const MetricInfo& metric : task.metrics()) {
    if (task.has_dev() && task.MeasuresOnDev(metric.name)) {
      measured.push_back(absl::StrCat("dev/", metric.name));
    }
  }
  const auto check = [&](const char* path, const std::string& metric) {
    if (std::count(measured.begin(), measured.end(), metric) > 0) return;
    if (!task.HasDevMetrics()) {
      problems.Note(
          path,
          absl::StrCat("has no effect: it monitors ", metric, ", but ",
                       task.has_dev() ? "the dev split has nothing to predict"
                                      : "the data have no dev split"));
      return;
    }
    problems.Add(path,
                 absl::StrCat("monitors ", metric,
                              ", which is not one of the metrics on dev: ",
                              absl::StrJoin(measured, ", ")));
  };
  const std::unique_ptr<Schedule> schedule =
      plugins.schedules.Create(config.optimizer().schedule(), {});
  if (!schedule->metric().empty()) {
    check("optimizer.schedule", schedule->metric());
  }
  if (config.training().has_early_stopping()) {
    check("training.early_stopping.metric",
          config.training().early_stopping().metric());
  }
}

}  // namespace regard
