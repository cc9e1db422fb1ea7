// Prints a line for each run below a folder: runs FOLDER
#include <cstdio>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "experiments/ablation/grid.h"
#include "experiments/comparison/run_list.h"
#include "experiments/tasks/plugins.h"
#include "files/file.h"
#include "files/json_file.h"
#include "nlohmann/json.hpp"
#include "options/command_line.h"
#include "third_party/abseil_backport/status_macros.h"
#include "tools/programs.h"

namespace regard {
namespace {

constexpr char kUsage[] =
    "Lists the runs below a directory: their state, their metrics, and the\n"
    "config fields in which they differ from the most typical run.\n\n"
    "  runs [--by=METRIC] [--tag=T] [--json] FOLDER\n\n"
    "Examples:\n"
    "  runs --json runs\n"
    "  runs --by=test/bleu bazel-bin/configs";

absl::Status ListRuns(int argc, char** argv) {
  std::vector<std::string> folders;
  std::string metric;
  std::string tag;
  bool json = false;
  CommandLine line(kUsage);
  line.Text("by", "METRIC", &metric,
            "sorts the runs by this metric, such as test/bleu, the best first",
            "by path");
  line.Text("tag", "T", &tag,
            "lists only the runs whose config has this word among its `tags`",
            "all runs");
  line.Switch("json", &json, kJsonHelp);
  line.Positional(&folders, "FOLDER");
  REGARD_RETURN_IF_ERROR(line.Parse(argc, argv));
  if (folders.size() != 1) {
    return absl::InvalidArgumentError(
        "error: exactly one FOLDER is required; see --help");
  }
  REGARD_ASSIGN_OR_RETURN(std::vector<ComparedRun> runs,
                          FindRuns(ResolveUserPath(folders[0])));
  if (!tag.empty()) REGARD_RETURN_IF_ERROR(FilterByTag(tag, &runs));
  if (!metric.empty()) REGARD_RETURN_IF_ERROR(SortByMetric(metric, &runs));
  const std::string text =
      json ? JsonText(RunListJson(runs)) + "\n" : RunListText(runs, metric);
  std::fputs(text.c_str(), stdout);
  return absl::OkStatus();
}

}  // namespace

int RunsMain(int argc, char** argv, const Plugins&) {
  return ExitCode(ListRuns(argc, argv));
}

}  // namespace regard
