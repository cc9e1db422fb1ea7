#include "experiments/training/train_program.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "autodiff/tape.h"
#include "autodiff/worker_pool.h"
#include "experiments/config/command_line.h"
#include "experiments/config/origins.h"
#include "experiments/config/resolved.h"
#include "experiments/report/attention_file.h"
#include "experiments/report/run_report.h"
#include "experiments/report/terminal_text.h"
#include "experiments/run/examples_file.h"
#include "experiments/run/metrics_log.h"
#include "experiments/run/run_folder.h"
#include "experiments/tasks/experiment_config.h"
#include "experiments/tasks/task.h"
#include "experiments/training/initial_weights.h"
#include "experiments/training/stop_signal.h"
#include "experiments/training/training_run.h"
#include "files/file.h"
#include "nn/config_problems.h"
#include "nn/evaluated_set.h"
#include "nn/forward.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

constexpr char kUsage[] =
    "Trains an experiment and writes a run folder.\n\n"
    "  train [--config=FILE] [--run=DIR] [--set PATH=VALUE]... [--threads=N]\n"
    "        [--checkpoints=DIR] [--resume] [--check] [--profile]";

struct Arguments {
  std::string config;
  std::string run;
  std::string checkpoints;
  std::vector<std::string> overrides;
  int threads = 0;
  bool resume = false;
  bool omit_times = false;
  bool check = false;
  bool profile = false;
};

absl::Status ParseArguments(int argc, char** argv, Arguments* arguments) {
  CommandLine line(kUsage);
  line.Text("config", "FILE", &arguments->config,
            "the experiment; without it the built-in one is trained");
  line.Text("run", "DIR", &arguments->run,
            "the run folder; without it a new one under runs/");
  line.Text("checkpoints", "DIR", &arguments->checkpoints,
            "a folder on another disk for the checkpoints; the run knows it "
            "from then on");
  line.Repeated("set", "PATH=VALUE", &arguments->overrides,
                "changes a field of the config; may be repeated");
  line.Number("threads", &arguments->threads, 1, 1024,
              "threads, one per shard at most; without it, one per core");
  line.Switch("resume", &arguments->resume,
              "resumes from the last checkpoint in --run (required)");
  line.Switch("check", &arguments->check,
              "says what is wrong with the config, and trains nothing");
  line.Switch("profile", &arguments->profile,
              "prints the time and FLOP/s of each operation");
  line.Switch("omit_times", &arguments->omit_times,
              "leaves times out of all files, so that they repeat");
  REGARD_RETURN_IF_ERROR(line.Parse(argc, argv));
  if (arguments->resume && arguments->run.empty()) {
    return absl::InvalidArgumentError(
        "error: --resume resumes a run: name its folder with --run=DIR");
  }
  return absl::OkStatus();
}

absl::StatusOr<RunFolder> OpenFolder(const std::string& path,
                                     const std::string& name, bool resume) {
  RunFolderOptions options;
  options.path = ResolveUserPath(path);
  options.name = name;
  options.now = absl::Now();
  options.resume = resume;
  return RunFolder::Open(options);
}

// What to train. A run to resume knows its own config.
absl::StatusOr<ConfigSource> SourceOf(const Arguments& arguments,
                                      absl::string_view default_config,
                                      const std::optional<RunFolder>& folder) {
  if (!arguments.config.empty()) {
    return ConfigSource{arguments.config, std::nullopt};
  }
  if (folder.has_value() && folder->holds_run()) {
    absl::StatusOr<std::string> text = folder->Read("resolved.textproto");
    if (text.ok()) {
      return ConfigSource{folder->File("resolved.textproto"), *std::move(text)};
    }
    if (IsMachineFailure(text.status())) return WithErrorPrefix(text.status());
    return absl::InvalidArgumentError(absl::StrCat(
        "error: ", text.status().message(),
        ": the run stopped before it had begun; give its --config again"));
  }
  return ConfigSource{"built-in config", std::string(default_config)};
}

// The task of a config that fits the data, with the weights that it begins
// with. `folder` is that of a run to resume, or null.
absl::StatusOr<std::unique_ptr<Task>> BuildFittingTask(
    const LoadedConfig& loaded, const RunFolder* folder,
    const Plugins& plugins) {
  ReadRunFile read_run_file;
  if (folder != nullptr && HasBegun(*folder)) {
    read_run_file = [folder](const std::string& name) {
      return WithErrorPrefix(folder->Read(name));
    };
  }
  REGARD_ASSIGN_OR_RETURN(std::unique_ptr<Task> task,
                          BuildTask(loaded.config, plugins, read_run_file));
  ConfigProblems problems;
  ValidateTask(*task, loaded.config, problems);
  ValidateWatchedMetrics(*task, loaded.config, plugins, problems);
  if (problems.ok()) {
    REGARD_ASSIGN_OR_RETURN(
        const std::vector<std::string> notes,
        LoadInitialWeights(loaded.config.training(), plugins, *task, problems));
    for (const std::string& note : notes) {
      std::fprintf(stderr, "training.initial_weights: %s\n", note.c_str());
    }
  }
  REGARD_RETURN_IF_ERROR(LocateProblems(problems, loaded.origins));
  return task;
}

// A problem of the baseline's, at the field `baseline`.
absl::Status BaselineError(const LoadedConfig& run,
                           const absl::Status& status) {
  if (status.ok() || IsMachineFailure(status)) return status;
  ConfigProblems problems;
  problems.Add("baseline", absl::StrCat("with its overrides the config is "
                                        "wrong:\n",
                                        status.message()));
  return LocateProblems(problems, run.origins);
}

// The config, with that of its baseline found good.
absl::StatusOr<LoadedConfig> LoadWithBaseline(const ConfigSource& source,
                                              const Arguments& arguments,
                                              const Plugins& plugins) {
  REGARD_ASSIGN_OR_RETURN(LoadedConfig loaded,
                          LoadConfig(source, arguments.overrides, plugins));
  if (loaded.config.baseline().override_size() == 0) return loaded;
  REGARD_RETURN_IF_ERROR(
      BaselineError(loaded, LoadBaseline(loaded, plugins).status()));
  return loaded;
}

// Whether the baseline fits its data and the weights that it begins with: it
// is trained after the run.
absl::Status CheckBaselineTask(const LoadedConfig& run,
                               const Plugins& plugins) {
  if (run.config.baseline().override_size() == 0) return absl::OkStatus();
  REGARD_ASSIGN_OR_RETURN(const LoadedConfig baseline,
                          LoadBaseline(run, plugins));
  return BaselineError(run,
                       BuildFittingTask(baseline, nullptr, plugins).status());
}

// What is wrong with the config and its data alone.
absl::Status Check(const Arguments& arguments, const Plugins& plugins,
                   absl::string_view default_config) {
  REGARD_ASSIGN_OR_RETURN(const ConfigSource source,
                          SourceOf(arguments, default_config, std::nullopt));
  REGARD_ASSIGN_OR_RETURN(const LoadedConfig loaded,
                          LoadWithBaseline(source, arguments, plugins));
  REGARD_RETURN_IF_ERROR(BuildFittingTask(loaded, nullptr, plugins).status());
  return CheckBaselineTask(loaded, plugins);
}

// Everything that can be wrong with what the user gave. A folder that exists is
// opened first: one to resume has the config, another may be refused. A new one
// is made last, so that a wrong config leaves nothing behind.
absl::StatusOr<std::unique_ptr<TrainingRun>> Prepare(
    const Arguments& arguments, const Plugins& plugins,
    absl::string_view default_config) {
  std::optional<RunFolder> folder;
  if (!arguments.run.empty() && PathExists(ResolveUserPath(arguments.run))) {
    REGARD_ASSIGN_OR_RETURN(RunFolder opened,
                            OpenFolder(arguments.run, "", arguments.resume));
    folder.emplace(std::move(opened));
  }
  REGARD_ASSIGN_OR_RETURN(const ConfigSource source,
                          SourceOf(arguments, default_config, folder));
  REGARD_ASSIGN_OR_RETURN(LoadedConfig loaded,
                          LoadWithBaseline(source, arguments, plugins));
  REGARD_ASSIGN_OR_RETURN(
      std::unique_ptr<Task> task,
      BuildFittingTask(loaded, folder.has_value() ? &*folder : nullptr,
                       plugins));
  if (!folder.has_value() || !HasBegun(*folder)) {
    REGARD_RETURN_IF_ERROR(CheckBaselineTask(loaded, plugins));
  }
  if (!folder.has_value()) {
    REGARD_ASSIGN_OR_RETURN(
        RunFolder opened,
        OpenFolder(arguments.run, loaded.config.name(), arguments.resume));
    folder.emplace(std::move(opened));
  }
  auto run = std::make_unique<TrainingRun>(std::move(loaded),
                                           *std::move(folder), std::move(task));
  REGARD_RETURN_IF_ERROR(run->Prepare(arguments.resume, arguments.checkpoints));
  return run;
}

// The baseline of a finished run, in a folder inside the run's.
absl::StatusOr<std::unique_ptr<TrainingRun>> PrepareBaseline(
    const TrainingRun& run, const Plugins& plugins) {
  REGARD_ASSIGN_OR_RETURN(LoadedConfig loaded,
                          LoadBaseline(run.loaded(), plugins));
  REGARD_ASSIGN_OR_RETURN(RunFolder folder,
                          OpenFolder(run.folder().File("baseline"), "",
                                     /*resume=*/true));
  REGARD_ASSIGN_OR_RETURN(std::unique_ptr<Task> task,
                          BuildFittingTask(loaded, &folder, plugins));
  auto baseline = std::make_unique<TrainingRun>(
      std::move(loaded), std::move(folder), std::move(task));
  // Its checkpoints are beside those of the run.
  const std::string checkpoints = run.checkpoint_folder();
  REGARD_RETURN_IF_ERROR(baseline->Prepare(
      /*resume=*/false,
      checkpoints.empty() ? "" : JoinPath(checkpoints, "baseline")));
  return baseline;
}

// A run to compare with; without a name there is none.
struct BaselineRun {
  std::string name = {};
  TrainerResult result = {};
  std::vector<EvaluatedSet> sets = {};
};

// Writes report.html and attention.json, and returns what to print.
absl::StatusOr<std::string> Report(const TrainingRun& run,
                                   const TrainerResult& result,
                                   const BaselineRun& baseline) {
  Tape<float> tape;
  Forward<float> forward(tape, run.task().model().parameters(), nullptr);
  const RunFolder& folder = run.folder();
  RunReport report;
  report.name = run.loaded().config.name();
  report.showcase = run.task().Show(forward, /*final=*/true);
  report.metric_infos = run.metrics();
  report.metrics = result.metrics;
  report.baseline_name = baseline.name;
  report.baseline_metrics = baseline.result.metrics;
  report.sets = FinalSets(run.sets());
  report.baseline_sets = FinalSets(baseline.sets);
  report.confidence = run.confidence();
  report.seed = run.loaded().config.seed();
  REGARD_ASSIGN_OR_RETURN(report.records,
                          ReadMetricsLog(folder.File("metrics.jsonl")));
  // As at the start: a resumed run may have read its config from there.
  REGARD_ASSIGN_OR_RETURN(report.resolved_config,
                          folder.Read("resolved.textproto"));
  REGARD_RETURN_IF_ERROR(
      folder.Write("attention.json", AttentionJson(report.showcase.heat_maps)));
  REGARD_RETURN_IF_ERROR(folder.Write("report.html", RunReportHtml(report)));
  report.run_path = folder.path();
  report.report_path = folder.File("report.html");
  return RunReportText(report, TerminalStyle());
}

int Interrupted(const TrainingRun& run, const TrainerResult& result) {
  std::fprintf(stderr,
               "stopped after step %s, with everything saved; resume by "
               "--resume --run=%s\n",
               absl::StrCat(result.step).c_str(), run.folder().path().c_str());
  return 128 + result.stopped_by;
}

absl::StatusOr<BaselineRun> TrainBaseline(const TrainingRun& run,
                                          const TrainerOptions& options,
                                          const Plugins& plugins) {
  REGARD_ASSIGN_OR_RETURN(const std::unique_ptr<TrainingRun> baseline,
                          PrepareBaseline(run, plugins));
  BaselineRun trained;
  trained.name = run.loaded().config.baseline().name();
  REGARD_ASSIGN_OR_RETURN(trained.result, baseline->Train(options, plugins));
  if (trained.result.stopped_by == 0) {
    trained.sets = baseline->sets();
    REGARD_RETURN_IF_ERROR(baseline->End(RunState::kFinished, trained.result));
  }
  return trained;
}

// The exit code.
absl::StatusOr<int> TrainAndReport(TrainingRun& run,
                                   const TrainerOptions& options,
                                   const Plugins& plugins) {
  REGARD_ASSIGN_OR_RETURN(const TrainerResult result,
                          run.Train(options, plugins));
  if (result.stopped_by != 0) return Interrupted(run, result);
  const Baseline& config = run.loaded().config.baseline();
  BaselineRun baseline;
  if (config.override_size() > 0) {
    std::fprintf(stderr, "now %s, to compare with\n", config.name().c_str());
    absl::StatusOr<BaselineRun> trained = TrainBaseline(run, options, plugins);
    if (!trained.ok()) {
      // The run itself is good: its report is worth having.
      const absl::StatusOr<std::string> text = Report(run, result, {});
      REGARD_RETURN_IF_ERROR(run.End(RunState::kFailed, result));
      if (text.ok()) std::fputs(text->c_str(), stdout);
      return trained.status();
    }
    baseline = *std::move(trained);
    if (baseline.result.stopped_by != 0) {
      REGARD_RETURN_IF_ERROR(run.End(RunState::kInterrupted, result));
      return Interrupted(run, baseline.result);
    }
  }
  const absl::StatusOr<std::string> text = Report(run, result, baseline);
  if (!text.ok()) {
    REGARD_RETURN_IF_ERROR(run.End(RunState::kFailed, result));
    return text.status();
  }
  // Before printing, which may end the process by SIGPIPE.
  REGARD_RETURN_IF_ERROR(run.End(RunState::kFinished, result));
  std::fputs(text->c_str(), stdout);
  return FinishOutput();
}

}  // namespace

int TrainMain(int argc, char** argv, const Plugins& plugins,
              absl::string_view default_config) {
  Arguments arguments;
  if (const absl::Status status = ParseArguments(argc, argv, &arguments);
      !status.ok()) {
    return ExitCode(status);
  }
  if (arguments.check) {
    return ExitCode(Check(arguments, plugins, default_config));
  }
  const absl::StatusOr<std::unique_ptr<TrainingRun>> run =
      Prepare(arguments, plugins, default_config);
  if (!run.ok()) return ExitCode(run.status());
  TrainerOptions options;
  const int shards = (*run)->loaded().config.num_shards();
  options.threads = arguments.threads;
  if (arguments.threads == 0) {
    options.threads = HardwareThreads();
  } else if (arguments.threads > shards) {
    std::fprintf(stderr, "num_shards is %d: %d of %d threads have work\n",
                 shards, shards, arguments.threads);
  }
  options.record_times = !arguments.omit_times;
  options.profile = arguments.profile;
  options.stop_signal = CatchStopSignals();
  const absl::StatusOr<int> code = TrainAndReport(**run, options, plugins);
  if (code.ok()) return *code;
  return ExitCode(code.status());
}

}  // namespace regard
