#include "experiments/sweep/results_program.h"

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
#include "experiments/sweep/cell_functions.h"
#include "experiments/sweep/expansion.h"
#include "experiments/sweep/imported_runs.h"
#include "experiments/sweep/sweep_cells.h"
#include "experiments/sweep/sweep_run.h"
#include "experiments/tasks/plugins.h"
#include "files/file.h"
#include "options/command_line.h"
#include "options/config_problems.h"
#include "options/config_text.h"
#include "options/reader.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {
namespace {

using Arguments = std::vector<std::string>;

absl::Status WritePlan(const Arguments& arguments, const Plugins& plugins) {
  REGARD_ASSIGN_OR_RETURN(const SweepWithOrigins source,
                          ReadSweep(arguments[0]));
  REGARD_ASSIGN_OR_RETURN(
      const SweepCells cells,
      CheckSweep(source, /*jobs=*/1, MakeCellFunctions(plugins), plugins));
  const std::vector<SweepArm>& arms = cells.plan.arms;
  if (arms.size() != arguments.size() - 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("error: ", arguments[0], " has ", arms.size(),
                     " arms, but there are ", arguments.size() - 1, " files"));
  }
  for (size_t arm = 0; arm < arms.size(); ++arm) {
    std::string text;
    for (const ConfigTextWithOrigin& override : arms[arm].overrides) {
      absl::StrAppend(&text, override.text(), "\n");
    }
    REGARD_RETURN_IF_ERROR(
        EnsureErrorPrefix(WriteFileAtomically(arguments[arm + 1], text)));
  }
  return absl::OkStatus();
}

absl::Status WriteReport(const Arguments& arguments, const Plugins& plugins) {
  constexpr size_t kFirstRun = 6;
  REGARD_ASSIGN_OR_RETURN(const SweepWithOrigins source,
                          ReadSweep(arguments[0]));
  SweepCells cells;
  REGARD_ASSIGN_OR_RETURN(cells.plan, ExpandSweep(source));
  const std::vector<ArmAndSeed>& planned = cells.plan.cells;
  if (planned.size() != arguments.size() - kFirstRun) {
    return absl::InvalidArgumentError(absl::StrCat(
        "error: ", arguments[0], " has ", planned.size(),
        " runs, but there are ", arguments.size() - kFirstRun, " folders"));
  }
  for (size_t i = 0; i < planned.size(); ++i) {
    cells.cells.push_back({.arm = planned[i].arm,
                           .seed = planned[i].seed,
                           .folder = arguments[kFirstRun + i]});
  }
  REGARD_RETURN_IF_ERROR(FindFinishedRuns(cells));
  ResultGrid grid = GridOf(source.sweep, cells, plugins);
  grid.label = arguments[1];
  const Report report = AblationReport(grid);
  REGARD_RETURN_IF_ERROR(
      WriteFileAtomically(arguments[2], ReportMarkdown(report)));
  REGARD_RETURN_IF_ERROR(WriteFileAtomically(arguments[3], AblationCsv(grid)));
  REGARD_RETURN_IF_ERROR(WriteFileAtomically(arguments[4], ReportHtml(report)));
  REGARD_ASSIGN_OR_RETURN(const std::string finished, FinishedText(cells));
  return WriteFileAtomically(arguments[5], finished);
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
                      .summary = "This page compares published results with "
                                 "the results of Regard. Each result of Regard "
                                 "comes from one run.",
                      .sections = {{.blocks = {ClaimsTable(claims, runs)}}}}));
}

// Whether the run finished and all bounds hold. Prints each bound.
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

}  // namespace

int ResultsMain(int argc, char** argv, const Plugins& plugins) {
  const std::string what = argc > 1 ? argv[1] : "";
  const Arguments arguments(argv + std::min(argc, 2), argv + argc);
  absl::Status status;
  if (what == "plan" && arguments.size() >= 2) {
    status = WritePlan(arguments, plugins);
  } else if (what == "report" && arguments.size() >= 7) {
    status = EnsureErrorPrefix(WriteReport(arguments, plugins));
  } else if (what == "claims" && arguments.size() >= 2) {
    status = WriteClaims(arguments);
  } else if (what == "check" && arguments.size() >= 2) {
    const absl::StatusOr<bool> all_hold = CheckMetrics(arguments);
    if (all_hold.ok()) return *all_hold ? 0 : 1;
    status = EnsureErrorPrefix(all_hold.status());
  } else {
    status = absl::InvalidArgumentError(
        "usage: train_results plan SWEEP OUT... | report SWEEP LABEL OUT.md "
        "OUT.csv OUT.html OUT.jsonl RUN... | claims CLAIMS OUT.md "
        "LABEL=STATUS... | check STATUS BOUND...");
  }
  return ExitCode(status);
}

}  // namespace regard
