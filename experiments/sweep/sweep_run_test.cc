// Tests sweeps with a fake trainer.
#include "experiments/sweep/sweep_run.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "experiments/ablation/grid.h"
#include "experiments/report/attention_file.h"
#include "experiments/report/progress.h"
#include "experiments/run/environment.h"
#include "experiments/run/metric.h"
#include "experiments/run/status.h"
#include "experiments/sweep/axis_flag.h"
#include "experiments/sweep/cell_key.h"
#include "experiments/sweep/cell_records.h"
#include "experiments/sweep/expansion.h"
#include "experiments/sweep/imported_runs.h"
#include "experiments/sweep/sweep_cells.h"
#include "experiments/tasks/built_in_plugins.h"
#include "experiments/tasks/experiment_config.h"
#include "experiments/tasks/plugins.h"
#include "files/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IsOk;
using ::testing::Not;
using ::testing::SizeIs;

constexpr char kConfig[] = R"(
  data { nadaraya_watson {} }
  model { nadaraya_watson {} attention { gaussian {} } }
)";

volatile sig_atomic_t stopped = 0;

// A trainer that writes the files of a run, with the learning rate as its loss.
// With rate 3, the run diverges. With rate 4, it fails unless the file
// OUT/repaired exists. If OUT/slow exists, the trainer waits for SIGTERM and
// stops after its first step.
class FakeTrainer {
 public:
  explicit FakeTrainer(std::string out) : out_(std::move(out)) {}

  int operator()(const std::vector<std::string>& arguments) const {
    std::string folder;
    double rate = 0;
    int seed = 0;
    for (const std::string& argument : arguments) {
      const std::vector<std::string> parts = absl::StrSplit(argument, '=');
      if (parts[0] == "--run") folder = parts[1];
      if (parts[0] == "seed") {
        EXPECT_TRUE(absl::SimpleAtoi(parts[1], &seed));
      }
      if (parts[0] == "optimizer.learning_rate") {
        EXPECT_TRUE(absl::SimpleAtod(parts[1], &rate));
      }
    }
    const bool resumes = PathExists(folder);
    std::printf("%s %s\n", resumes ? "resumes" : "begins", folder.c_str());
    EXPECT_THAT(MakeDirectories(folder, SystemFiles()), IsOk());
    Write(folder, "run.json",
          RunDescriptionJson({{"loss", "", "", Better::kLower}}));
    Write(folder, "resolved.textproto", absl::StrCat("rate: ", rate, "\n"));
    Write(folder, "environment.json", "{}\n");
    Write(folder, "metrics.jsonl", "");
    Write(folder, "attention.json", AttentionJson({}));
    RunStatus status = {.step = 1};
    if (rate == 3) {
      Finish(folder, RunState::kFailed, status);
      std::printf("error: the loss is not a number\n\n");
      return 3;
    }
    if (rate == 4 && !PathExists(JoinPath(out_, "repaired"))) {
      std::printf("error: the disk is full\n");
      return 1;
    }
    if (PathExists(JoinPath(out_, "slow"))) {
      signal(SIGTERM, [](int) { stopped = 1; });
      Finish(folder, RunState::kRunning, status);
      while (stopped == 0) absl::SleepFor(absl::Milliseconds(10));
      Finish(folder, RunState::kInterrupted, status);
      return 143;
    }
    status.step = 2;
    status.metrics = {{"dev/loss", rate + 0.01 * seed}};
    status.weights_digest = absl::StrCat("digest of ", rate);
    Finish(folder, RunState::kFinished, status);
    return 0;
  }

 private:
  static void Write(const std::string& folder, const std::string& name,
                    const std::string& text) {
    EXPECT_THAT(WriteFileAtomically(JoinPath(folder, name), text), IsOk());
  }
  static void Finish(const std::string& folder, RunState state,
                     RunStatus status) {
    status.state = state;
    EXPECT_THAT(WriteStatus(folder, status), IsOk());
  }

  const std::string out_;
};

class SweepRunTest : public ::testing::Test {
 protected:
  SweepRunTest()
      : folder_(JoinPath(
            ::testing::TempDir(),
            ::testing::UnitTest::GetInstance()->current_test_info()->name())),
        plugins_(BuiltInPlugins()) {
    plugins_.compute_digest = "cc";
    options_.out = JoinPath(folder_, "out");
    options_.jobs = 2;
    EXPECT_THAT(MakeDirectories(options_.out, SystemFiles()), IsOk());
    EXPECT_THAT(WriteFileAtomically(JoinPath(folder_, "a.textproto"), kConfig),
                IsOk());
    source_.sweep.set_config(JoinPath(folder_, "a.textproto"));
    source_.sweep.set_seeds(2);
    programs_.data_digests = [](const LoadedConfig&) {
      return std::map<std::string, std::string>{{"data.path", "aa"}};
    };
    programs_.train = FakeTrainer(options_.out);
    output_.write = [this](absl::string_view text) {
      absl::StrAppend(&printed_, text);
    };
    output_.now = [] { return absl::Now(); };
    output_.width = [] { return 0; };
  }

  void SetRates(const std::string& rates) {
    source_.sweep.clear_axis();
    *source_.sweep.add_axis() =
        *ParseAxisFlag("optimizer.learning_rate=" + rates);
  }

  absl::StatusOr<SweepCells> Plan() {
    return PlanSweep(source_, options_, programs_, plugins_);
  }

  // Plans and trains a sweep. Returns the signal that stopped it, or 0.
  int Train() {
    absl::StatusOr<SweepCells> cells = Plan();
    EXPECT_THAT(cells, IsOk());
    cells_ = *std::move(cells);
    printed_.clear();
    const absl::StatusOr<int> stopped_by =
        TrainCells(source_.sweep, options_, programs_, output_, cells_);
    EXPECT_THAT(stopped_by, IsOk());
    return *stopped_by;
  }

  std::string Report() {
    const ResultGrid grid = GridOf(source_.sweep, cells_, plugins_);
    EXPECT_THAT(WriteSweepReport(options_, cells_, grid), IsOk());
    return ReadFile(JoinPath(options_.out, "report.md")).value();
  }

  std::string Log(const std::string& cell) {
    return ReadFile(JoinPath(options_.out, "cells/" + cell + ".log")).value();
  }

  std::vector<CellResult> Finished() {
    return *ReadCellResults(JoinPath(options_.out, "cells.jsonl"));
  }

  std::string SlowStatus() {
    return JoinPath(options_.out, "cells/learning_rate_2/seed-0/status.json");
  }

  // Starts a process that runs a sweep of slow cells, and sends `signal` to it.
  // Returns the status of the process in the form of waitpid().
  int EndSlowSweep(int signal) {
    SetRates("1,2");
    Touch("slow");
    const pid_t process = fork();
    if (process == 0) _exit(Train());
    while (!PathExists(SlowStatus())) absl::SleepFor(absl::Milliseconds(10));
    kill(process, signal);
    int end = 0;
    EXPECT_EQ(waitpid(process, &end, 0), process);
    return end;
  }

  void Touch(const std::string& name) {
    EXPECT_THAT(WriteFileAtomically(JoinPath(options_.out, name), ""), IsOk());
  }

  const std::string folder_;
  Plugins plugins_;
  SweepWithOrigins source_;
  SweepOptions options_;
  CellFunctions programs_;
  ProgressOutput output_;
  SweepCells cells_;
  std::string printed_;
};

TEST_F(SweepRunTest, TrainsAllCellsAndReportsOnThem) {
  SetRates("1,2");
  EXPECT_EQ(Train(), 0);
  EXPECT_EQ(SweepExitCode(cells_), 0);
  EXPECT_THAT(printed_, AllOf(HasSubstr("finished learning_rate_1/seed-0: "
                                        "dev/loss 1"),
                              HasSubstr("(4 of 4)\n")));
  const std::vector<CellResult> finished = Finished();
  ASSERT_THAT(finished, SizeIs(4));
  EXPECT_EQ(finished[3].arm, "learning_rate_2");
  EXPECT_EQ(finished[3].seed, 1);
  EXPECT_EQ(finished[3].metrics.at("dev/loss"), 2.01);
  EXPECT_EQ(finished[3].weights_digest, "digest of 2");
  EXPECT_EQ(finished[3].key, cells_.cells[3].key.Digest());
  EXPECT_NE(finished[3].host, "");
  EXPECT_THAT(Report(),
              AllOf(HasSubstr("# a\n"), HasSubstr("All 4 runs finished"),
                    HasSubstr("| learning_rate 2 | 2 | 2.005")));
  EXPECT_TRUE(PathExists(JoinPath(options_.out, "report.html")));
  // No cell may be trained again, because all cells are finished.
  EXPECT_EQ(Train(), 0);
  EXPECT_EQ(printed_, "");
  EXPECT_EQ(std::ranges::count(Log("learning_rate_1/seed-0"), '\n'), 1);
}

TEST_F(SweepRunTest, ContinuesAfterACellThatFails) {
  SetRates("1,3,4");
  EXPECT_EQ(Train(), 0);
  EXPECT_EQ(SweepExitCode(cells_), 1);
  EXPECT_THAT(Finished(), SizeIs(2));
  EXPECT_THAT(printed_, AllOf(HasSubstr("failed learning_rate_3/seed-0: error: "
                                        "the loss is not a number (see "),
                              HasSubstr("failed learning_rate_4/seed-1: error: "
                                        "the disk is full")));
  const std::string report = Report();
  EXPECT_THAT(report, HasSubstr("4 of 6 runs are missing"));
  EXPECT_THAT(report, HasSubstr("| learning_rate 3 | 0 | failed: error: the "
                                "loss is not a number |"));
  // A run that diverged must not be trained again.
  Touch("repaired");
  EXPECT_EQ(Train(), 0);
  EXPECT_EQ(SweepExitCode(cells_), 3);
  EXPECT_THAT(Finished(), SizeIs(4));
  EXPECT_THAT(Log("learning_rate_4/seed-0"), HasSubstr("resumes"));
  EXPECT_THAT(Log("learning_rate_3/seed-0"), Not(HasSubstr("resumes")));
}

TEST_F(SweepRunTest, ContinuesWhereASignalStoppedIt) {
  const int end = EndSlowSweep(SIGINT);
  ASSERT_TRUE(WIFEXITED(end));
  EXPECT_EQ(WEXITSTATUS(end), SIGINT);
  EXPECT_EQ(ReadStatus(SlowStatus())->state, RunState::kInterrupted);
  EXPECT_FALSE(PathExists(JoinPath(options_.out,
                                   "cells/learning_rate_1/"
                                   "seed-1")));
  EXPECT_THAT(RemoveTree(JoinPath(options_.out, "slow"), SystemFiles()),
              IsOk());
  EXPECT_EQ(Train(), 0);
  EXPECT_THAT(Finished(), SizeIs(4));
  EXPECT_THAT(Log("learning_rate_1/seed-0"), HasSubstr("resumes"));
  EXPECT_THAT(Log("learning_rate_1/seed-1"), Not(HasSubstr("resumes")));
}

// If a sweep is killed, its children must save their state and end.
TEST_F(SweepRunTest, ContinuesAfterAKill) {
  EndSlowSweep(SIGKILL);
  while (ReadStatus(SlowStatus())->state != RunState::kInterrupted) {
    absl::SleepFor(absl::Milliseconds(10));
  }
  EXPECT_THAT(RemoveTree(JoinPath(options_.out, "slow"), SystemFiles()),
              IsOk());
  EXPECT_EQ(Train(), 0);
  EXPECT_THAT(Finished(), SizeIs(4));
}

TEST_F(SweepRunTest, TrainsTheMissingCellsOfALargerSweep) {
  SetRates("1,2");
  EXPECT_EQ(Train(), 0);
  SetRates("1,2,5");
  source_.sweep.set_seeds(3);
  EXPECT_EQ(Train(), 0);
  EXPECT_THAT(printed_, AllOf(HasSubstr("(9 of 9)"), Not(HasSubstr("(4 of"))));
  EXPECT_THAT(Finished(), SizeIs(9));
}

TEST_F(SweepRunTest, ReplacesOtherRunsOnlyWhenAskedTo) {
  SetRates("1,2");
  EXPECT_EQ(Train(), 0);
  Override* const epochs = source_.sweep.add_override();
  epochs->set_path("training.epochs");
  epochs->set_value("3");
  EXPECT_THAT(std::string(Plan().status().message()),
              AllOf(HasSubstr("seed-0: error: was trained with another config"),
                    HasSubstr("use --replace")));
  programs_.data_digests = [](const LoadedConfig&) {
    return std::map<std::string, std::string>{{"data.path", "bb"}};
  };
  EXPECT_THAT(std::string(Plan().status().message()),
              HasSubstr("was trained with another config, data"));
  options_.replace = true;
  EXPECT_EQ(Train(), 0);
  EXPECT_THAT(Finished(), SizeIs(4));
  EXPECT_EQ(Log("learning_rate_1/seed-0").find("resumes"), std::string::npos);
}

TEST_F(SweepRunTest, CountsRecordedCellsAsFinished) {
  SetRates("1,2");
  EXPECT_EQ(Train(), 0);
  options_.cells = JoinPath(folder_, "cells.jsonl");
  ASSERT_THAT(RenameFile(JoinPath(options_.out, "cells.jsonl"), options_.cells,
                         SystemFiles()),
              IsOk());
  options_.out = JoinPath(folder_, "elsewhere");
  programs_.train = FakeTrainer(options_.out);
  SetRates("1,2,5");
  EXPECT_EQ(Train(), 0);
  EXPECT_THAT(printed_, Not(HasSubstr("learning_rate_1")));
  EXPECT_THAT(Finished(), SizeIs(6));
  EXPECT_THAT(Report(), AllOf(HasSubstr("All 6 runs finished"),
                              HasSubstr("| learning_rate 2 | 2 | 2.005")));
}

TEST_F(SweepRunTest, ImportsRunsWithItsKeys) {
  SetRates("1,2");
  source_.sweep.set_seeds(1);
  EXPECT_EQ(Train(), 0);
  // Completes a run, because the fake trainer does not write all files.
  Environment environment = BuildEnvironment();
  environment.data = {{"data.path", "aa"}};
  environment.provenance.compute_digest = "cc";
  for (const CellWithState& cell : cells_.cells) {
    EXPECT_THAT(WriteFileAtomically(JoinPath(cell.folder, "resolved.textproto"),
                                    cells_.configs[cell.arm].resolved),
                IsOk());
    EXPECT_THAT(WriteFileAtomically(JoinPath(cell.folder, "environment.json"),
                                    EnvironmentJson(environment)),
                IsOk());
    const absl::StatusOr<CellKey> key = KeyOfRun(cell.folder);
    ASSERT_THAT(key, IsOk());
    EXPECT_EQ(key->Digest(), cell.key.Digest());
  }
  options_.import_from = JoinPath(options_.out, "cells");
  options_.out = JoinPath(folder_, "elsewhere");
  programs_.train = FakeTrainer(options_.out);
  SetRates("1,2,5");
  cells_ = *Plan();
  const absl::StatusOr<size_t> imported = ImportRuns(options_, cells_);
  ASSERT_THAT(imported, IsOk());
  EXPECT_EQ(*imported, 2);
  EXPECT_EQ(Train(), 0);
  EXPECT_THAT(printed_, AllOf(HasSubstr("(3 of 3)"), Not(HasSubstr("(2 of"))));
  EXPECT_THAT(Finished(), SizeIs(3));
  // A run that another program computed must not be imported.
  plugins_.compute_digest = "dd";
  options_.out = JoinPath(folder_, "third");
  cells_ = *Plan();
  EXPECT_EQ(*ImportRuns(options_, cells_), 0);
}

TEST_F(SweepRunTest, CollectsRunsTrainedByCommands) {
  SetRates("1,2");
  source_.sweep.set_question("Is it 'quoted'?");
  Override* const name = source_.sweep.add_override();
  name->set_path("note");
  name->set_value("it's");
  cells_ = *Plan();
  const absl::StatusOr<std::string> commands =
      TrainCommands(source_.sweep, options_, cells_);
  ASSERT_THAT(commands, IsOk());
  EXPECT_EQ(std::ranges::count(*commands, '\n'), 4);
  EXPECT_THAT(*commands,
              HasSubstr(absl::StrCat(
                  "\nregard train --config=", folder_,
                  "/a.textproto --run=", options_.out,
                  "/cells/learning_rate_2/seed-0 --resume --threads=1 "
                  "--set 'note=it'\\''s' --set optimizer.learning_rate=2 --set "
                  "seed=0\n")));
  programs_.train(cells_.TrainArguments(cells_.cells[1], source_.sweep, 1));
  options_.collect = true;
  cells_ = *Plan();
  EXPECT_THAT(Report(), AllOf(HasSubstr("3 of 4 runs are missing"),
                              HasSubstr("not trained yet")));
  ASSERT_THAT(Finished(), SizeIs(1));
  EXPECT_EQ(Finished()[0].arm, "learning_rate_2");
}

TEST_F(SweepRunTest, ChecksAllArmsBeforeItTrains) {
  SetRates("1,x");
  const std::string error(Plan().status().message());
  EXPECT_THAT(error, HasSubstr("arm x:\n--axis: error: "));
  EXPECT_THAT(error, HasSubstr("optimizer.learning_rate=x\n"));
  source_.sweep.clear_axis();
  *source_.sweep.add_axis() =
      *ParseAxisFlag("model.attention=gausian,gaussian,dott");
  const std::string both(Plan().status().message());
  EXPECT_THAT(both, HasSubstr("arm gausian:\n--axis: error: no field "
                              "'gausian' in Attention; did you mean "
                              "'gaussian'?\n"));
  EXPECT_THAT(both, HasSubstr("arm dott:\n"));
  SetRates("1,2");
  source_.sweep.set_metric("test/bleu");
  EXPECT_THAT(std::string(Plan().status().message()),
              HasSubstr("error: --metric=test/bleu: the task has no such "
                        "metric"));
  source_.sweep.clear_metric();
  programs_.data_digests = [](const LoadedConfig&)
      -> absl::StatusOr<std::map<std::string, std::string>> {
    return absl::InvalidArgumentError("fra.txt:1:1: error: is empty");
  };
  EXPECT_EQ(Plan().status().message(),
            "arm learning_rate_1:\nfra.txt:1:1: error: is empty");
  EXPECT_FALSE(PathExists(JoinPath(options_.out, "cells")));
}

TEST_F(SweepRunTest, TrainsNoBaselineOfTheConfig) {
  ASSERT_THAT(WriteFileAtomically(
                  JoinPath(folder_, "a.textproto"),
                  absl::StrCat(kConfig,
                               "baseline { name: \"b\" override { path: "
                               "\"seed\" value: \"9\" } }")),
              IsOk());
  SetRates("1,2");
  const absl::StatusOr<SweepCells> cells = Plan();
  ASSERT_THAT(cells, IsOk());
  EXPECT_EQ(cells->configs[0].config.baseline().override_size(), 0);
  EXPECT_THAT(
      cells->TrainArguments(cells->cells[0], source_.sweep, 3),
      ElementsAre(HasSubstr("--config="), HasSubstr("--run="), "--resume",
                  "--threads=3", "--set", "baseline.override=[]", "--set",
                  "optimizer.learning_rate=1", "--set", "seed=0"));
}

}  // namespace
}  // namespace regard
