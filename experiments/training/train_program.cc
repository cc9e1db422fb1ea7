#include "experiments/training/train_program.h"

#include <signal.h>

#include <atomic>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "autodiff/worker_pool.h"
#include "experiments/run/environment.h"
#include "experiments/run/latest_run.h"
#include "experiments/run/run_folder.h"
#include "experiments/run/status.h"
#include "experiments/tasks/experiment_config.h"
#include "experiments/tasks/former_runs.h"
#include "experiments/tasks/task.h"
#include "experiments/training/check_report.h"
#include "experiments/training/follower.h"
#include "experiments/training/prepared_task.h"
#include "experiments/training/run_presenter.h"
#include "experiments/training/trainer.h"
#include "experiments/training/training_run.h"
#include "files/file.h"
#include "files/printable_text.h"
#include "optimization/ranks/agreement.h"
#include "optimization/ranks/ranks.h"
#include "optimization/shard_tree.h"
#include "options/command_line.h"
#include "options/config_problems.h"
#include "options/reader.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

constexpr char kUsage[] =
    "Trains an experiment and writes a run folder.\n\n"
    "  train [--config=FILE] [--run=DIR] [--set PATH=VALUE]... [--threads=N]\n"
    "        [--checkpoints=DIR] [--resume] [--check [--print]] [--profile]\n"
    "        [--omit_times]\n\n"
    "Examples:\n"
    "  train --config=configs/phrasebook.textproto --set training.epochs=5\n"
    "  train --run=runs/pairs --resume\n"
    "  train --run=runs/pairs --resume --set training.epochs=20";

struct Arguments {
  std::string config;
  std::string run;
  std::string checkpoints;
  std::vector<std::string> overrides;
  bool resume = false;
  bool check = false;
  bool print = false;
  TrainerOptions trainer = {.threads = 0};  // 0 means one thread per core
  // Source tree and command line of the run. With --omit_times, only
  // `compute_digest` is set.
  Provenance provenance;
};

// The time that a rank other than 0 waits before it reports an error. If all
// ranks find the error, rank 0 has reported it by then.
constexpr absl::Duration kFirstRankTells = absl::Seconds(5);

// Whether this process is the one that writes and prints.
bool Leads(const Ranks* ranks) {
  return ranks == nullptr || ranks->rank() == 0;
}

absl::Status ParseArguments(int argc, char** argv, Arguments* arguments) {
  CommandLine line(kUsage);
  line.Text("config", "FILE", &arguments->config, kConfigHelp,
            "the built-in experiment");
  line.Text("run", "DIR", &arguments->run, kRunHelp, "a new one under runs/");
  line.Text("checkpoints", "DIR", &arguments->checkpoints,
            "directory for the checkpoints, such as one on another disk; "
            "--resume finds it again",
            "in the run folder");
  line.Repeated("set", "PATH=VALUE", &arguments->overrides, kSetHelp);
  line.Number("threads", &arguments->trainer.threads, 1, 1024, kThreadsHelp,
              kThreadsDefault);
  line.Switch("resume", &arguments->resume,
              "resumes --run, or the latest run under runs/, from its last "
              "checkpoint");
  line.Switch("check", &arguments->check,
              "checks the config and prints what would be trained, without "
              "training");
  line.Switch("print", &arguments->print,
              "with --check: prints the config with all defaults, and where "
              "each value comes from");
  line.Switch("profile", &arguments->trainer.profile,
              "prints the time and FLOP/s of each operation");
  line.Switch("omit_times", &arguments->trainer.omit_times,
              "omits times from all files, so that repeated runs write equal "
              "files");
  REGARD_RETURN_IF_ERROR(line.Parse(argc, argv));
  if (!arguments->trainer.omit_times) {
    arguments->provenance = ReadProvenance(argc, argv);
  }
  if (arguments->resume && arguments->check) {
    return absl::InvalidArgumentError(
        "error: --check and --resume cannot be given together; to check the "
        "config of a run, use --config=DIR/resolved.textproto");
  }
  if (arguments->print && !arguments->check) {
    return absl::InvalidArgumentError(
        "error: --print requires --check; a run folder has the same text in "
        "resolved.textproto");
  }
  return absl::OkStatus();
}

// On rank 0, chooses the run to resume if the user did not specify one.
absl::Status ChooseRun(const Ranks* ranks, Arguments* arguments) {
  if (!Leads(ranks) || !arguments->resume || !arguments->run.empty()) {
    return absl::OkStatus();
  }
  const absl::StatusOr<std::string> latest = LatestRun();
  if (!latest.ok()) {
    return absl::InvalidArgumentError(
        "error: --resume requires --run=DIR, the folder of the run to resume");
  }
  arguments->run = *latest;
  std::fprintf(stderr, "%s\n", LatestRunNote(*latest).c_str());
  return absl::OkStatus();
}

// Returns the config to train. A resumed run uses its own config.
absl::StatusOr<ConfigPathOrText> SourceOf(const Arguments& arguments,
                                          absl::string_view default_config,
                                          const RankZeroFolder& found) {
  if (!arguments.config.empty()) {
    return ConfigPathOrText{arguments.config, std::nullopt};
  }
  if (found.holds_run) {
    const std::string path = JoinPath(found.path, "resolved.textproto");
    absl::StatusOr<std::string> text = ReadFile(path);
    if (text.ok()) return ConfigPathOrText{path, *std::move(text)};
    if (IsMachineFailure(text.status())) {
      return EnsureErrorPrefix(text.status());
    }
    REGARD_RETURN_IF_ERROR(CheckConfigNotLost(found.path));
    return absl::InvalidArgumentError(absl::StrCat(
        "error: ", text.status().message(),
        ": the run stopped before training began; give its config file again "
        "with --config=FILE"));
  }
  if (arguments.resume) {
    return absl::InvalidArgumentError(absl::StrCat(
        "error: ", ResolveUserPath(arguments.run),
        " holds no run to resume; name a run folder with --run=DIR, or start a "
        "new run with --config=FILE"));
  }
  return ConfigPathOrText{"built-in config", std::string(default_config)};
}

absl::Status BaselineError(const LoadedConfig& run,
                           const absl::Status& status) {
  if (status.ok() || IsMachineFailure(status)) return status;
  ConfigProblems problems;
  problems.Add("baseline",
               absl::StrCat("its overrides make the config invalid:\n",
                            status.message()));
  return LocateProblems(problems, run.origins);
}

absl::StatusOr<LoadedConfig> ReadGivenConfig(const Arguments& arguments,
                                             const Plugins& plugins,
                                             absl::string_view default_config,
                                             const RankZeroFolder& found) {
  REGARD_ASSIGN_OR_RETURN(const ConfigPathOrText source,
                          SourceOf(arguments, default_config, found));
  REGARD_ASSIGN_OR_RETURN(LoadedConfig loaded,
                          LoadConfig(source, arguments.overrides, plugins));
  if (found.begun) {
    SetFormerTextVersion(
        {JoinPath(found.path, "resolved.textproto"), std::nullopt},
        &loaded.config);
  }
  REGARD_RETURN_IF_ERROR(BaselineError(loaded, LoadBaseline(plugins, loaded)));
  return loaded;
}

// The user's input after all checks have passed.
struct CheckedInputs {
  OpenRunFolderOptions options = {};
  // Set only on rank 0, and only if the folder existed.
  std::optional<RunFolder> folder = std::nullopt;
  LoadedConfig loaded = {};
  PreparedTask fitting = {};
  PreparedTask baseline = {};  // only for --check, if there is a baseline
};

// Checks the input on all ranks. First opens the run folder if it exists,
// because a resumed run has its config there. Fails early if the folder must
// not be used.
absl::StatusOr<CheckedInputs> CheckInputs(const Arguments& arguments,
                                          const Plugins& plugins,
                                          absl::string_view default_config) {
  Ranks* const ranks = arguments.trainer.ranks;
  CheckedInputs checked;
  checked.options.path = ResolveUserPath(arguments.run);
  checked.options.resume = arguments.resume;
  if (Leads(ranks) && !arguments.check && !arguments.run.empty() &&
      PathExists(checked.options.path)) {
    REGARD_ASSIGN_OR_RETURN(RunFolder opened, RunFolder::Open(checked.options));
    checked.folder.emplace(std::move(opened));
  }
  const RankZeroFolder found = BroadcastFolder(checked.folder, ranks);
  absl::StatusOr<LoadedConfig> loaded =
      ReadGivenConfig(arguments, plugins, default_config, found);
  REGARD_RETURN_IF_ERROR(AgreeOn(ranks, loaded.status()));
  checked.loaded = *std::move(loaded);
  REGARD_ASSIGN_OR_RETURN(
      checked.fitting,
      PrepareTask(checked.loaded, found.BegunRunPath(), plugins, ranks));
  // Checks the baseline now, because it is only trained after the run.
  if (!found.begun && checked.loaded.baseline != nullptr) {
    const Experiment& run = checked.loaded.config;
    if (run.baseline().name().empty() || run.baseline().name() == run.name()) {
      ConfigProblems problems;
      problems.Add("baseline.name",
                   "must not be empty or equal to `name`, because reports show "
                   "both names");
      return LocateProblems(problems, checked.loaded.origins);
    }
    absl::StatusOr<PreparedTask> baseline =
        PrepareTask(*checked.loaded.baseline, "", plugins, ranks);
    REGARD_RETURN_IF_ERROR(BaselineError(checked.loaded, baseline.status()));
    if (arguments.check) checked.baseline = *std::move(baseline);
  }
  return checked;
}

// Prints the notes, then the resolved config or a summary of the checks.
void PrintCheck(const CheckedInputs& checked, bool print_config) {
  for (const std::string& note : checked.fitting.notes) {
    std::fprintf(stderr, "note: %s\n", PrintableText(note).c_str());
  }
  const std::string text =
      print_config ? checked.loaded.resolved
                   : ConfigCheckReport(checked.loaded, *checked.fitting.task,
                                       checked.baseline.task.get());
  std::fputs(text.c_str(), stdout);
}

// Makes the folder of a new run. Called after all checks, so that an invalid
// config leaves no folder behind.
absl::StatusOr<std::unique_ptr<TrainingRun>> Prepare(const Arguments& arguments,
                                                     const Plugins& plugins,
                                                     CheckedInputs checked) {
  if (!checked.folder.has_value()) {
    checked.options.name = checked.loaded.config.name();
    checked.options.now = absl::Now();
    REGARD_ASSIGN_OR_RETURN(RunFolder opened, RunFolder::Open(checked.options));
    checked.folder.emplace(std::move(opened));
  }
  auto run = std::make_unique<TrainingRun>(std::move(checked.loaded),
                                           *std::move(checked.folder),
                                           std::move(checked.fitting));
  REGARD_RETURN_IF_ERROR(run->Prepare(arguments.resume, arguments.checkpoints,
                                      arguments.provenance, plugins));
  const absl::Status linked = RecordLatestRun(run->folder().path());
  if (!linked.ok()) {
    std::fprintf(stderr, "note: %s\n", PrintableText(linked.message()).c_str());
  }
  return run;
}

// Trains the baseline of a finished run, in a folder inside the run folder.
// Returns the signal that stopped it, or 0.
absl::StatusOr<int> TrainBaseline(const TrainingRun& run,
                                  const TrainerOptions& options,
                                  const Provenance& provenance,
                                  const Plugins& plugins,
                                  const RunPresenter* presenter,
                                  std::unique_ptr<TrainingRun>* baseline) {
  const LoadedConfig& loaded = *run.loaded().baseline;
  REGARD_ASSIGN_OR_RETURN(
      RunFolder opened,
      RunFolder::Open({.path = run.folder().File("baseline"), .resume = true}));
  std::optional<RunFolder> folder(std::move(opened));
  const RankZeroFolder found = BroadcastFolder(folder, options.ranks);
  REGARD_ASSIGN_OR_RETURN(
      PreparedTask fitting,
      PrepareTask(loaded, found.BegunRunPath(), plugins, options.ranks));
  *baseline = std::make_unique<TrainingRun>(loaded, *std::move(folder),
                                            std::move(fitting));
  // The checkpoints of the baseline are next to the checkpoints of the run.
  const std::string checkpoints = run.checkpoint_folder();
  REGARD_RETURN_IF_ERROR((*baseline)->Prepare(
      /*resume=*/false,
      checkpoints.empty() ? "" : JoinPath(checkpoints, "baseline"), provenance,
      plugins, run.notes()));
  REGARD_ASSIGN_OR_RETURN(const int stopped_by,
                          (*baseline)->Train(options, plugins, presenter));
  if (stopped_by == 0) {
    REGARD_RETURN_IF_ERROR((*baseline)->End(RunState::kFinished));
  }
  return stopped_by;
}

// Trains the run and its baseline, and writes the report. Returns the exit
// code.
absl::StatusOr<int> TrainAndReport(TrainingRun& run,
                                   const TrainerOptions& options,
                                   const Provenance& provenance,
                                   const Plugins& plugins,
                                   const RunPresenter* presenter) {
  if (run.loaded().baseline != nullptr && !run.resumes()) {
    std::fprintf(
        stderr,
        "note: this run trains two models: its own, then the baseline '%s'; to "
        "train no baseline, use --set 'baseline.override=[]'\n",
        PrintableText(run.loaded().config.baseline().name()).c_str());
  }
  REGARD_ASSIGN_OR_RETURN(int stopped_by,
                          run.Train(options, plugins, presenter));
  std::unique_ptr<TrainingRun> baseline;
  absl::Status failure;
  if (stopped_by == 0 && run.loaded().baseline != nullptr) {
    std::fprintf(stderr, "training the baseline '%s'\n",
                 PrintableText(run.loaded().config.baseline().name()).c_str());
    const absl::StatusOr<int> trained =
        TrainBaseline(run, options, provenance, plugins, presenter, &baseline);
    failure = trained.status();
    stopped_by = trained.value_or(0);
  }
  if (stopped_by != 0) {
    if (baseline != nullptr) {
      REGARD_RETURN_IF_ERROR(run.End(RunState::kInterrupted));
    }
    std::fprintf(
        stderr,
        "stopped after step %s, with everything saved; resume with "
        "--resume --run=%s\n",
        absl::StrCat((baseline == nullptr ? run : *baseline).step()).c_str(),
        run.folder().path().c_str());
    return 128 + stopped_by;
  }
  // If the baseline failed, the run itself is still valid and gets its report.
  absl::StatusOr<std::string> text = "";
  if (presenter != nullptr) {
    text = run.WriteReportAndGetText(*presenter,
                                     failure.ok() ? baseline.get() : nullptr);
  }
  if (failure.ok()) failure = text.status();
  // Ends the run before printing, because SIGPIPE may end the process.
  REGARD_RETURN_IF_ERROR(
      run.End(failure.ok() ? RunState::kFinished : RunState::kFailed));
  if (text.ok()) std::fputs(text->c_str(), stdout);
  REGARD_RETURN_IF_ERROR(failure);
  return FlushStandardOutput();
}

// Global, because a signal handler can access nothing else.
std::atomic<int> stop_signal = 0;
static_assert(std::atomic<int>::is_always_lock_free);

// Stores the signal. A second SIGINT or SIGTERM ends the program immediately.
void RememberSignal(int number) {
  stop_signal = number;
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
}

TrainerOptions OptionsOf(const Arguments& arguments, int num_shards) {
  TrainerOptions options = arguments.trainer;
  const Ranks* const ranks = options.ranks;
  const int shards =
      ranks == nullptr
          ? num_shards
          : ShardsOf(ranks->rank(), ranks->size(), num_shards).size();
  if (options.threads == 0) {
    options.threads = HardwareThreads();
  } else if (options.threads > shards && Leads(ranks)) {
    std::fprintf(stderr, "num_shards is %d: only %d of %d threads have work\n",
                 num_shards, shards, options.threads);
  }
  options.stop_signal = &stop_signal;
  return options;
}

absl::StatusOr<int> Train(int argc, char** argv, const Plugins& plugins,
                          absl::string_view default_config,
                          const RunPresenter* presenter, Ranks* ranks) {
  Arguments arguments;
  REGARD_RETURN_IF_ERROR(ParseArguments(argc, argv, &arguments));
  arguments.trainer.ranks = ranks;
  arguments.provenance.compute_digest = plugins.compute_digest;
  REGARD_RETURN_IF_ERROR(ChooseRun(ranks, &arguments));
  // Checks the number of ranks before they communicate.
  if (ranks != nullptr && !RanksFit(ranks->size(), ranks->size())) {
    return absl::InvalidArgumentError(
        absl::StrCat("error: ", ranks->size(),
                     " ranks: the number of ranks must be a power of two and "
                     "at most num_shards of the config"));
  }
  REGARD_ASSIGN_OR_RETURN(CheckedInputs checked,
                          CheckInputs(arguments, plugins, default_config));
  if (arguments.check) {
    if (Leads(ranks)) PrintCheck(checked, arguments.print);
    return FlushStandardOutput();
  }
  const TrainerOptions options =
      OptionsOf(arguments, checked.loaded.config.num_shards());
  struct sigaction action = {};
  action.sa_handler = &RememberSignal;
  if (!Leads(ranks)) {
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
    return FollowRankZero(checked.loaded, *checked.fitting.task, options,
                          plugins);
  }
  REGARD_ASSIGN_OR_RETURN(const std::unique_ptr<TrainingRun> run,
                          Prepare(arguments, plugins, std::move(checked)));
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  return TrainAndReport(*run, options, arguments.provenance, plugins,
                        presenter);
}

}  // namespace

int TrainMain(int argc, char** argv, const Plugins& plugins,
              absl::string_view default_config, const RunPresenter* presenter,
              Ranks* ranks) {
  FlushDenormalsToZero();
  const absl::StatusOr<int> code =
      Train(argc, argv, plugins, default_config, presenter, ranks);
  if (code.ok()) return *code;
  if (!Leads(ranks)) {
    if (absl::IsCancelled(code.status())) return 0;
    // Waits, because rank 0 may report the same error and end all ranks.
    absl::SleepFor(kFirstRankTells);
    std::fprintf(stderr, "rank %d: ", ranks->rank());
  }
  return ExitCode(code.status());
}

}  // namespace regard
