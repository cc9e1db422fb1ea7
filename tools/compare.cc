// Prints how two runs differ: compare RUN RUN
#include <cstdio>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "experiments/ablation/run_comparison.h"
#include "experiments/config/command_line.h"
#include "experiments/run/file.h"

namespace regard {
namespace {

constexpr char kUsage[] =
    "Prints which config fields of two runs differ, and which numbers "
    "moved.\n\n"
    "  compare RUN RUN\n\n"
    "A RUN is a run folder, or the folder that an experiment leaves under\n"
    "bazel-bin.";

int Compare(int argc, char** argv) {
  std::vector<std::string> folders;
  CommandLine line(kUsage);
  line.Positional(&folders, "RUN");
  const absl::Status parsed = line.Parse(argc, argv);
  if (!parsed.ok()) return ExitCode(parsed);
  if (folders.size() != 2) {
    return ExitCode(absl::InvalidArgumentError("error: want two runs; --help"));
  }
  std::vector<StoredRun> runs;
  for (const std::string& folder : folders) {
    absl::StatusOr<StoredRun> run = ReadStoredRun(ResolveUserPath(folder));
    if (!run.ok()) return ExitCode(run.status());
    runs.push_back(*run);
  }
  std::fputs(RunComparisonText(runs[0], runs[1]).c_str(), stdout);
  return 0;
}

}  // namespace
}  // namespace regard

int main(int argc, char** argv) { return regard::Compare(argc, argv); }
