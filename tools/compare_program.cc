// Prints the differences between runs: compare RUN RUN...
#include <cstdio>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "experiments/ablation/grid.h"
#include "experiments/comparison/run_comparison.h"
#include "experiments/tasks/plugins.h"
#include "files/file.h"
#include "files/json_file.h"
#include "nlohmann/json.hpp"
#include "options/command_line.h"
#include "tools/programs.h"

namespace regard {
namespace {

constexpr char kUsage[] =
    "Compares the configs and metrics of runs, and tests whether "
    "differences\nin metrics could be due to chance.\n\n"
    "  compare RUN RUN...\n\n"
    "A RUN is a run folder, or the directory of an experiment under\n"
    "bazel-bin. Two runs are compared by config fields and by final metrics.\n"
    "All runs are compared with the first one by their metrics on test\n"
    "examples, using paired bootstrap resampling and approximate\n"
    "randomization. Runs that differ only in their seed are compared\n"
    "together, over examples and over seeds. Unfinished runs are listed with\n"
    "their state but not compared.\n\n"
    "Examples:\n"
    "  compare runs/first runs/second\n"
    "  compare --json runs/baseline runs/seed1 runs/seed2";

}  // namespace

int CompareMain(int argc, char** argv, const Plugins& plugins) {
  std::vector<std::string> folders;
  CommandLine line(kUsage);
  line.RemovedFlag("run", "compare RUN RUN");
  bool json = false;
  line.Switch("json", &json, kJsonHelp);
  line.Positional(&folders, "RUN");
  const absl::Status parsed = line.Parse(argc, argv);
  if (!parsed.ok()) return ExitCode(parsed);
  if (folders.size() < 2) {
    return ExitCode(absl::InvalidArgumentError(
        "error: at least two runs are required; see --help"));
  }
  std::vector<ComparedRun> runs;
  for (const std::string& folder : folders) {
    absl::StatusOr<ComparedRun> run =
        ReadRun(ResolveUserPath(folder), plugins.aggregates);
    if (!run.ok()) return ExitCode(run.status());
    run->label = folder;
    runs.push_back(*std::move(run));
  }
  if (json) {
    std::printf("%s\n", JsonText(ComparisonJson(runs)).c_str());
    return FlushStandardOutput();
  }
  if (runs.size() == 2) {
    std::fputs(RunComparisonText(runs[0], runs[1]).c_str(), stdout);
  }
  std::fputs(StatesText(runs).c_str(), stdout);
  std::fputs(SignificanceText(GridOfRuns(runs)).c_str(), stdout);
  return FlushStandardOutput();
}

}  // namespace regard
