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

int Complain(const absl::Status& status) {
  std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return 2;
}

int Compare(int argc, char** argv) {
  std::vector<std::string> folders;
  CommandLine line(kUsage);
  line.Positional(&folders, "RUN");
  const absl::Status parsed = line.Parse(argc, argv);
  if (absl::IsCancelled(parsed)) {
    std::fputs(std::string(parsed.message()).c_str(), stdout);
    return 0;
  }
  if (!parsed.ok()) return Complain(parsed);
  if (folders.size() != 2) {
    return Complain(absl::InvalidArgumentError("error: want two runs; --help"));
  }
  std::vector<StoredRun> runs;
  for (const std::string& folder : folders) {
    absl::StatusOr<StoredRun> run = ReadStoredRun(ResolveUserPath(folder));
    if (!run.ok()) return Complain(run.status());
    runs.push_back(*run);
  }
  std::fputs(RunComparisonText(runs[0], runs[1]).c_str(), stdout);
  return 0;
}

}  // namespace
}  // namespace regard

int main(int argc, char** argv) { return regard::Compare(argc, argv); }
