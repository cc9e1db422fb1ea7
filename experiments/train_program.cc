#include "experiments/train_program.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "experiments/build_task.h"
#include "experiments/command_line.h"
#include "experiments/config/config_file.h"
#include "experiments/config/diff.h"
#include "experiments/config/origins.h"
#include "experiments/config/reader.h"
#include "experiments/config/resolved.h"
#include "experiments/experiment.pb.h"
#include "experiments/report/end_of_run.h"
#include "experiments/report/progress.h"
#include "experiments/run/checkpoint.h"
#include "experiments/run/environment.h"
#include "experiments/run/file_operations.h"
#include "experiments/run/metrics_log.h"
#include "experiments/run/run_folder.h"
#include "experiments/run/status.h"
#include "experiments/run/weights_digest.h"
#include "experiments/run_report.h"
#include "experiments/stop_signal.h"
#include "experiments/trainer.h"
#include "experiments/weights.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

constexpr char kUsage[] =
    "Trains an experiment and writes a run folder.\n\n"
    "  train [--config=FILE] [--run=DIR] [--set PATH=VALUE]... [--threads=N]\n"
    "        [--resume] [--check]";
constexpr int64_t kMostTextBytes = int64_t{1} << 26;

struct Arguments {
  std::string config;
  std::string run;
  std::vector<std::string> overrides;
  int threads = 0;
  bool resume = false;
  bool omit_times = false;
  bool check = false;
};

absl::Status ParseArguments(int argc, char** argv, Arguments* arguments) {
  CommandLine line(kUsage);
  line.Text("config", &arguments->config,
            "the experiment; without it the built-in phrasebook is trained");
  line.Text("run", &arguments->run,
            "the run folder; without it a new one under runs/");
  line.Repeated("set", &arguments->overrides,
                "changes a field of the config; may be repeated");
  line.Number("threads", &arguments->threads, 1, 1024,
              "threads, one per shard at most; without it, one per core");
  line.Switch("resume", &arguments->resume,
              "goes on from the last checkpoint in --run");
  line.Switch("check", &arguments->check,
              "says what is wrong with the config, and trains nothing");
  line.Switch("omit_times", &arguments->omit_times,
              "leaves times out of all files, so that they repeat");
  return line.Parse(argc, argv);
}

struct LoadedConfig {
  Experiment config;
  std::string given;     // text of the file that was named
  std::string resolved;  // in full, with origins
};

absl::StatusOr<LoadedConfig> LoadConfig(const ConfigSource& source,
                                        absl::Span<const std::string> overrides,
                                        const ScorerRegistry& scorers) {
  LoadedConfig loaded;
  REGARD_ASSIGN_OR_RETURN(const ConfigOrigins origins,
                          ReadConfig(source, overrides, &loaded.config));
  ConfigProblems problems;
  ValidateExperiment(loaded.config, scorers, problems);
  REGARD_RETURN_IF_ERROR(LocateProblems(problems, origins));
  for (const ConfigText& text : origins.texts()) {
    if (!text.is_override()) loaded.given = text.text();
  }
  loaded.resolved = ResolvedConfig(loaded.config, origins);
  return loaded;
}

// That a run to go on with is a run of this very config.
absl::Status CheckSameConfig(const RunFolder& folder,
                             const Experiment& config) {
  REGARD_ASSIGN_OR_RETURN(const std::string text,
                          folder.Read("resolved.textproto", kMostTextBytes));
  Experiment stored;
  REGARD_RETURN_IF_ERROR(
      ReadConfig({folder.File("resolved.textproto"), text}, {}, &stored)
          .status());
  std::string differences;
  for (const ConfigDifference& difference : DiffConfigs(stored, config)) {
    absl::StrAppend(&differences, "\n  ", difference.path, ": ",
                    difference.before, " in the run, ", difference.after,
                    " now");
  }
  if (differences.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "error: ", folder.path(),
      ": the config differs from that of the run to resume:", differences));
}

// One training run with its folder.
class Run {
 public:
  Run(const Arguments& arguments, const ScorerRegistry& scorers,
      absl::string_view default_config)
      : arguments_(arguments),
        scorers_(scorers),
        default_config_(default_config) {}

  // What is wrong with the config and its data alone.
  absl::Status Check();
  // Everything that can be wrong with what the user gave.
  absl::Status Prepare();
  // The exit code.
  absl::StatusOr<int> Train();
  // Notes in the folder that training failed.
  void Fail();

 private:
  ConfigSource Source() const;
  absl::Status WriteFiles();
  absl::Status Finish(const TrainerResult& result);
  RunStatus Status(RunState state, const TrainerResult& result) const;

  const Arguments& arguments_;
  const ScorerRegistry& scorers_;
  const absl::string_view default_config_;
  LoadedConfig loaded_;
  std::unique_ptr<Task> task_;
  std::optional<RunFolder> folder_;
  std::optional<Checkpoint> checkpoint_;
  int64_t failed_step_ = 0;
};

ConfigSource Run::Source() const {
  if (!arguments_.config.empty()) return {arguments_.config, std::nullopt};
  // A run to resume knows its own config.
  if (arguments_.resume && folder_.has_value() && folder_->holds_run()) {
    absl::StatusOr<std::string> text =
        folder_->Read("resolved.textproto", kMostTextBytes);
    if (text.ok()) return {folder_->File("resolved.textproto"), *text};
  }
  return {"built-in phrasebook.textproto", std::string(default_config_)};
}

absl::Status Run::Check() {
  REGARD_ASSIGN_OR_RETURN(loaded_,
                          LoadConfig(Source(), arguments_.overrides, scorers_));
  REGARD_ASSIGN_OR_RETURN(task_, BuildTask(loaded_.config, scorers_));
  return absl::OkStatus();
}

absl::Status Run::Prepare() {
  // A folder to resume is opened first, for its config; a new one is made last,
  // so that nothing is left behind by a config that is wrong.
  const auto open_folder = [this]() -> absl::Status {
    RunFolderOptions options;
    options.path = arguments_.run;
    options.name = loaded_.config.name();
    options.now = absl::Now();
    options.resume = arguments_.resume;
    REGARD_ASSIGN_OR_RETURN(
        RunFolder folder,
        RunFolder::Open(options, StartFolders::FromEnvironment()));
    folder_.emplace(std::move(folder));
    return absl::OkStatus();
  };
  const bool open_first = arguments_.resume && !arguments_.run.empty();
  if (open_first) REGARD_RETURN_IF_ERROR(open_folder());
  REGARD_RETURN_IF_ERROR(Check());
  if (!open_first) REGARD_RETURN_IF_ERROR(open_folder());
  if (!folder_->holds_run()) {
    if (arguments_.resume) {
      std::fprintf(stderr, "%s holds no run to resume: starting at step 0\n",
                   folder_->path().c_str());
    }
    return WriteFiles();
  }
  REGARD_RETURN_IF_ERROR(CheckSameConfig(*folder_, loaded_.config));
  FileOperations files;
  REGARD_RETURN_IF_ERROR(CleanUpCheckpoints(folder_->path(), files));
  REGARD_ASSIGN_OR_RETURN(const LatestCheckpoint latest,
                          FindLatestCheckpoint(folder_->path()));
  for (const std::string& note : latest.notes) {
    std::fprintf(stderr, "%s\n", note.c_str());
  }
  checkpoint_ = latest.checkpoint;
  if (!checkpoint_.has_value()) {
    std::fprintf(stderr, "%s has no whole checkpoint: starting at step 0\n",
                 folder_->path().c_str());
    return WriteFiles();
  }
  std::fprintf(stderr, "resuming at step %s\n",
               absl::StrCat(checkpoint_->step).c_str());
  return absl::OkStatus();
}

absl::Status Run::WriteFiles() {
  REGARD_RETURN_IF_ERROR(folder_->Write("config.textproto", loaded_.given));
  for (const auto& [name, text] : task_->Files()) {
    REGARD_RETURN_IF_ERROR(folder_->Write(name, text));
  }
  Environment environment = BuildEnvironment();
  environment.data = task_->DataDigests();
  REGARD_RETURN_IF_ERROR(
      folder_->Write("environment.json", EnvironmentJson(environment)));
  // Last: a folder with a resolved config holds a run.
  return folder_->Write("resolved.textproto", loaded_.resolved);
}

RunStatus Run::Status(RunState state, const TrainerResult& result) const {
  const ParameterStore<float>& parameters = task_->model().parameters();
  RunStatus status;
  status.state = state;
  status.step = result.step;
  status.metrics = result.metrics;
  status.weights_digest =
      WeightsDigest(SlabViews(parameters, parameters.values(), ""));
  return status;
}

void Run::Fail() {
  if (!folder_.has_value()) return;
  RunStatus status;
  status.state = RunState::kFailed;
  status.step = failed_step_;
  // The failure itself is what matters to the caller.
  (void)WriteStatus(folder_->path(), status);
}

absl::StatusOr<int> Run::Train() {
  const std::string log_path = folder_->File("metrics.jsonl");
  REGARD_ASSIGN_OR_RETURN(MetricsLog log,
                          checkpoint_.has_value()
                              ? MetricsLog::Resume(log_path, checkpoint_->step)
                              : MetricsLog::Create(log_path));
  RunStatus running;
  running.step = checkpoint_.has_value() ? checkpoint_->step : 0;
  REGARD_RETURN_IF_ERROR(WriteStatus(folder_->path(), running));

  const int64_t total =
      Trainer::TotalSteps(loaded_.config, task_->model().num_examples());
  Progress progress(total, std::max<int64_t>(total / 20, 1),
                    ProgressToStandardError());
  const int shards = loaded_.config.num_shards();
  const int threads =
      arguments_.threads > 0
          ? arguments_.threads
          : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  if (arguments_.threads > shards) {
    progress.Message(absl::StrCat("num_shards is ", shards, ": ", shards,
                                  " of ", threads, " threads have work"));
  }
  Trainer trainer(loaded_.config, *task_, log, progress,
                  {.run_folder = folder_->path(),
                   .threads = threads,
                   .record_times = !arguments_.omit_times,
                   .stop_signal = CatchStopSignals()});
  if (checkpoint_.has_value()) {
    REGARD_RETURN_IF_ERROR(trainer.Restore(*checkpoint_));
  }
  const absl::StatusOr<TrainerResult> result = trainer.Run();
  failed_step_ = trainer.step();
  REGARD_RETURN_IF_ERROR(result.status());
  progress.Finish();
  if (result->stopped_by != 0) {
    REGARD_RETURN_IF_ERROR(
        WriteStatus(folder_->path(), Status(RunState::kInterrupted, *result)));
    std::fprintf(stderr,
                 "stopped after step %s, with everything saved; go on with "
                 "--resume --run=%s\n",
                 absl::StrCat(result->step).c_str(), folder_->path().c_str());
    return 128 + result->stopped_by;
  }
  REGARD_RETURN_IF_ERROR(Finish(*result));
  return 0;
}

absl::Status Run::Finish(const TrainerResult& result) {
  Tape<float> tape;
  Forward<float> forward(tape, task_->model().parameters(), nullptr);
  RunReport report;
  report.name = loaded_.config.name();
  report.showcase = task_->Show(forward);
  report.metrics = result.metrics;
  REGARD_ASSIGN_OR_RETURN(report.records,
                          ReadMetricsLog(folder_->File("metrics.jsonl")));
  report.resolved_config = loaded_.resolved;
  REGARD_RETURN_IF_ERROR(folder_->Write("report.html", RunReportHtml(report)));
  REGARD_RETURN_IF_ERROR(
      WriteStatus(folder_->path(), Status(RunState::kFinished, result)));
  AlignmentTextStyle style;
  style.unicode = TerminalTakesUnicode();
  winsize window;
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0) {
    style.width = window.ws_col;
  }
  std::fputs(EndOfRunText(RunReportText(report, folder_->path(),
                                        folder_->File("report.html")),
                          style)
                 .c_str(),
             stdout);
  return absl::OkStatus();
}

int Complain(const absl::Status& status, int code) {
  std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return code;
}

}  // namespace

int TrainMain(int argc, char** argv, const ScorerRegistry& scorers,
              absl::string_view default_config) {
  Arguments arguments;
  if (const absl::Status status = ParseArguments(argc, argv, &arguments);
      !status.ok()) {
    if (absl::IsCancelled(status)) {
      std::fputs(std::string(status.message()).c_str(), stdout);
      return 0;
    }
    return Complain(status, 2);
  }
  Run run(arguments, scorers, default_config);
  if (arguments.check) {
    const absl::Status status = run.Check();
    return status.ok() ? 0 : Complain(status, 2);
  }
  if (const absl::Status status = run.Prepare(); !status.ok()) {
    return Complain(status, 2);
  }
  const absl::StatusOr<int> code = run.Train();
  if (code.ok()) return *code;
  run.Fail();
  return Complain(code.status(), 1);
}

}  // namespace regard
