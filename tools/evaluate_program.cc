#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "autodiff/worker_pool.h"
#include "experiments/config/command_line.h"
#include "experiments/report/run_report.h"
#include "experiments/report/terminal_text.h"
#include "experiments/run.h"
#include "experiments/tasks/evaluation.h"
#include "files/json_file.h"
#include "nlohmann/json.hpp"
#include "nn/statistics.h"
#include "third_party/abseil_backport/status_macros.h"
#include "tools/programs.h"

namespace regard {

namespace {

constexpr char kUsage[] =
    "Evaluates the model of a run, as at the end of its training.\n\n"
    "  evaluate --run=DIR [--set PATH=VALUE]... [--json]\n\n"
    "--set changes fields of `data`, `search` and `intervene` alone: other "
    "data,\n"
    "which the model reads by its own vocabulary, another search, or what "
    "stands\n"
    "in place of values of the model (docs/interventions.md).";

absl::Status EvaluateRun(int argc, char** argv, const Plugins& plugins) {
  RunFlags flags;
  RunOptions options = {.data = true};
  bool json = false;
  int threads = HardwareThreads();
  CommandLine line(kUsage);
  AddRunFlags(line, &flags);
  line.Repeated("set", "PATH=VALUE", &options.overrides,
                "changes a field of `data`, `search` or `intervene`; may be "
                "repeated");
  line.Switch("json", &json, "prints an object: docs/json.md");
  line.Number("threads", &threads, 1, 1024,
              "changes no bit of a number; without it, one per core");
  REGARD_RETURN_IF_ERROR(line.Parse(argc, argv));
  REGARD_ASSIGN_OR_RETURN(const Run run, OpenRun(flags, plugins, options));
  for (const std::string& note : run.task().Notes()) {
    std::fprintf(stderr, "note: %s\n", note.c_str());
  }
  WorkerPool pool(threads);
  const InferenceThreads help(pool);
  const Evaluation evaluation = EvaluateAll(run.task(), run.forward());
  const std::map<std::string, Confidence> confidence =
      BootstrapConfidence(evaluation.sets, run.config().seed());
  if (!json) {
    std::fputs(RunReportText({.metric_infos = run.task().metrics(),
                              .metrics = evaluation.metrics,
                              .confidence = confidence,
                              .run_path = run.path()},
                             TerminalStyle())
                   .c_str(),
               stdout);
    return absl::OkStatus();
  }
  nlohmann::ordered_json all = {{"run", run.path()},
                                {"step", run.step()},
                                {"set", options.overrides},
                                {"metrics", evaluation.metrics},
                                {"signatures", run.task().Signatures()}};
  for (const auto& [name, interval] : confidence) {
    all["confidence"][name] = {{"mean", interval.mean},
                               {"half_width", interval.half_width}};
  }
  std::printf("%s\n", JsonText(all).c_str());
  return absl::OkStatus();
}

}  // namespace

int EvaluateMain(int argc, char** argv, const Plugins& plugins) {
  FlushDenormalsToZero();
  return ExitCode(EvaluateRun(argc, argv, plugins));
}

}  // namespace regard
