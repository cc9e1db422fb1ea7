// What the build rules make of the results of runs:
//
//   results_tool report GRID.json OUT.md OUT.csv OUT.html
//     writes an ablation's report;
//   results_tool claims CLAIMS.textproto OUT.md LABEL=STATUS.json...
//     writes published numbers beside ours;
//   results_tool check STATUS.json BOUND...
//     checks bounds on the metrics of a run.
#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "experiments/ablation/ablation_report.h"
#include "experiments/ablation/claims.pb.h"
#include "experiments/ablation/expectations.h"
#include "experiments/ablation/grid.h"
#include "experiments/report/report.h"
#include "experiments/run/status.h"
#include "experiments/tasks/built_in_plugins.h"
#include "experiments/tasks/plugins.h"
#include "files/file.h"
#include "options/command_line.h"
#include "options/config_problems.h"
#include "options/reader.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {
namespace {

using Arguments = std::vector<std::string>;

absl::Status WriteReport(const Arguments& arguments) {
  REGARD_ASSIGN_OR_RETURN(const Grid grid,
                          ReadGrid(arguments[0], BuiltInPlugins().aggregates));
  const Report report = AblationReport(grid);
  REGARD_RETURN_IF_ERROR(
      WriteFileAtomically(arguments[1], ReportMarkdown(report)));
  REGARD_RETURN_IF_ERROR(WriteFileAtomically(arguments[2], AblationCsv(grid)));
  return WriteFileAtomically(arguments[3], ReportHtml(report));
}

absl::Status WriteClaims(const Arguments& arguments) {
  Claims claims;
  REGARD_ASSIGN_OR_RETURN(const ConfigOrigins origins,
                          ReadConfig({arguments[0], {}}, {}, &claims));
  ConfigProblems problems;
  ValidateClaims(claims, problems);
  REGARD_RETURN_IF_ERROR(LocateProblems(problems, origins));
  std::map<std::string, RunStatus> runs;
  for (size_t i = 2; i < arguments.size(); ++i) {
    const std::vector<std::string> run =
        absl::StrSplit(arguments[i], absl::MaxSplits('=', 1));
    if (run.size() != 2) {
      return absl::InvalidArgumentError(absl::StrCat(
          "error: expected LABEL=STATUS.json, got ", arguments[i]));
    }
    REGARD_ASSIGN_OR_RETURN(runs[run[0]], ReadStatus(run[1]));
  }
  return WriteFileAtomically(
      arguments[1],
      ReportMarkdown({.title = "Published numbers and ours",
                      .sections = {{.blocks = {ClaimsTable(claims, runs)}}}}));
}

// Whether the run finished and all bounds hold; prints which do.
absl::StatusOr<bool> CheckMetrics(const Arguments& arguments) {
  REGARD_ASSIGN_OR_RETURN(const RunStatus status, ReadStatus(arguments[0]));
  std::printf("state: %s\n", std::string(StateName(status.state)).c_str());
  bool all_hold = status.state == RunState::kFinished;
  for (size_t i = 1; i < arguments.size(); ++i) {
    REGARD_ASSIGN_OR_RETURN(const MetricBound bound, ParseBound(arguments[i]));
    const auto metric = status.metrics.find(bound.metric);
    const bool there = metric != status.metrics.end();
    const bool holds = there && bound.Holds(metric->second);
    std::printf("%s  %s: %s\n", holds ? "holds " : "BROKEN",
                arguments[i].c_str(),
                there ? absl::StrFormat("is %.6g", metric->second).c_str()
                      : "the run has no such metric");
    all_hold = all_hold && holds;
  }
  return all_hold;
}

int Main(const std::string& what, const Arguments& arguments) {
  absl::Status status;
  if (what == "report" && arguments.size() == 4) {
    status = WithErrorPrefix(WriteReport(arguments));
  } else if (what == "claims" && arguments.size() >= 2) {
    status = WriteClaims(arguments);
  } else if (what == "check" && arguments.size() >= 2) {
    const absl::StatusOr<bool> all_hold = CheckMetrics(arguments);
    if (all_hold.ok()) return *all_hold ? 0 : 1;
    status = WithErrorPrefix(all_hold.status());
  } else {
    status = absl::InvalidArgumentError(
        "usage: results_tool report GRID MARKDOWN CSV HTML | claims CLAIMS "
        "OUT.md LABEL=STATUS... | check STATUS BOUND...");
  }
  return ExitCode(status);
}

}  // namespace
}  // namespace regard

int main(int argc, char** argv) {
  return regard::Main(argc > 1 ? argv[1] : "",
                      {argv + std::min(argc, 2), argv + argc});
}
