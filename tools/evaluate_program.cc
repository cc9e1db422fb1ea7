#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "autodiff/worker_pool.h"
#include "evaluation/statistics.h"
#include "experiments/report/run_report.h"
#include "experiments/report/terminal_text.h"
#include "experiments/run.h"
#include "experiments/tasks/evaluation.h"
#include "files/json_file.h"
#include "nlohmann/json.hpp"
#include "options/command_line.h"
#include "third_party/abseil_backport/status_macros.h"
#include "tools/programs.h"

namespace regard {

namespace {

constexpr char kUsage[] =
    "Evaluates the model of a run, as at the end of its training.\n\n"
    "  evaluate --run=DIR [--set PATH=VALUE]... [--json]\n"
    "  evaluate --run=DIR [--text=FILE] [--stride=N] [--json]\n\n"
    "--set changes only fields of `data`, `search` and `intervene`. The model\n"
    "reads other data with its own vocabulary. `intervene` replaces values\n"
    "inside the model (docs/interventions.md): the model is evaluated with\n"
    "and without it, and the differences are printed. --text and --stride are\n"
    "for language models. A stride below the length of a window makes the\n"
    "windows overlap.\n\n"
    "Examples:\n"
    "  evaluate --run=runs/text --text=other.txt --stride=16\n"
    "  evaluate --run=runs/pairs --set search.beam=5 --json";

struct Arguments {
  RunSelectionFlags run;
  OpenRunOptions options = {.data = true};
  std::string text;
  int stride = 0;
  bool json = false;
  int threads = HardwareThreads();
};

absl::Status ParseArguments(int argc, char** argv, Arguments* arguments) {
  CommandLine line(kUsage);
  std::vector<std::string>& overrides = arguments->options.overrides;
  AddRunSelectionFlags(line, &arguments->run);
  AddPrecisionFlag(line, &arguments->run.precision);
  line.Repeated("set", "PATH=VALUE", &overrides, kSetHelp);
  line.Text("text", "FILE", &arguments->text,
            "evaluates a language model on all of this text file");
  line.Number(
      "stride", &arguments->stride, 1, 1 << 20,
      "number of tokens between the starts of two successive windows; each "
      "token is predicted once",
      kRunConfigDefault);
  line.Switch("json", &arguments->json, kJsonHelp);
  line.Number("threads", &arguments->threads, 1, 1024, kThreadsHelp,
              kThreadsDefault);
  REGARD_RETURN_IF_ERROR(line.Parse(argc, argv));
  UseLatestRun(&arguments->run);
  if (!arguments->text.empty()) {
    overrides.push_back(
        absl::StrCat("data={path: \"", absl::CEscape(arguments->text),
                     "\" text {dev_fraction: 0 test_fraction: 1}}"));
  }
  if (arguments->stride > 0) {
    overrides.push_back(
        absl::StrCat(kEvaluationStride, "=", arguments->stride));
  }
  return absl::OkStatus();
}

absl::StatusOr<Run> Open(const Arguments& arguments, const Plugins& plugins) {
  absl::StatusOr<Run> run = OpenRun(arguments.run, plugins, arguments.options);
  const absl::Status& status = run.status();
  if (run.ok() || arguments.stride == 0) return run;
  const std::string of_field =
      absl::StrCat("--set: error: ", kEvaluationStride);
  if (absl::StrContains(status.message(), of_field)) {
    return absl::Status(
        status.code(),
        absl::StrReplaceAll(status.message(), {{of_field, "error: --stride"}}));
  }
  // Opens the run again without --stride. If this also fails, reports the new
  // error, because the first error may only say that this kind of model has no
  // field for the stride.
  OpenRunOptions without = arguments.options;
  without.overrides.pop_back();
  if (const absl::Status other =
          OpenRun(arguments.run, plugins, without).status();
      !other.ok()) {
    return other;
  }
  return absl::Status(
      status.code(),
      absl::StrCat(status.message(),
                   "\nnote: --stride applies only to language models"));
}

// Evaluates the run without the interventions of --set, for comparison. Returns
// nullopt if --set contains no interventions.
absl::StatusOr<std::optional<EvaluationResults>> EvaluateUntouched(
    Arguments arguments, const Plugins& plugins) {
  const size_t set =
      std::erase_if(arguments.options.overrides, [](absl::string_view change) {
        return change.substr(0, change.find_first_of(".=[{")) == "intervene";
      });
  if (set == 0) return std::nullopt;
  REGARD_ASSIGN_OR_RETURN(const Run run, Open(arguments, plugins));
  return EvaluateAll(run.task(), run.forward());
}

absl::Status EvaluateRun(int argc, char** argv, const Plugins& plugins) {
  Arguments arguments;
  REGARD_RETURN_IF_ERROR(ParseArguments(argc, argv, &arguments));
  REGARD_ASSIGN_OR_RETURN(const Run run, Open(arguments, plugins));
  for (const std::string& note : run.task().Notes()) {
    std::fprintf(stderr, "note: %s\n", note.c_str());
  }
  WorkerPool pool(arguments.threads);
  const InferenceThreads help(pool);
  const EvaluationResults evaluation = EvaluateAll(run.task(), run.forward());
  if (!arguments.text.empty() && evaluation.metrics.empty()) {
    return absl::InvalidArgumentError(
        "error: --text: the file is too short; it must contain at least two "
        "tokens");
  }
  if (evaluation.metrics.empty()) {
    std::fputs(
        "note: nothing is evaluated: the data has no dev or test split\n",
        stderr);
  }
  REGARD_ASSIGN_OR_RETURN(const std::optional<EvaluationResults> untouched,
                          EvaluateUntouched(arguments, plugins));
  std::map<std::string, double> differences;
  if (untouched.has_value()) {
    for (const auto& [name, value] : untouched->metrics) {
      const auto found = evaluation.metrics.find(name);
      if (found == evaluation.metrics.end()) continue;
      differences[name] = found->second - value;
    }
  }
  const std::map<std::string, ConfidenceInterval> confidence =
      BootstrapConfidence(evaluation.sets, run.config().seed());
  if (!arguments.json) {
    ReportedRun report = {.metric_infos = run.task().metrics(),
                          .metrics = evaluation.metrics,
                          .confidence = confidence,
                          .run_path = run.path()};
    if (untouched.has_value()) {
      report.baseline_name = "untouched";
      report.baseline_metrics = untouched->metrics;
    }
    for (const auto& [name, difference] : differences) {
      report.showcase.notes[name] = absl::StrCat(
          "difference: ", difference > 0 ? "+" : "", FormatMetric(difference));
    }
    std::fputs(RunReportText(report, TerminalStyle()).c_str(), stdout);
    return absl::OkStatus();
  }
  nlohmann::ordered_json all = {{"run", run.path()},
                                {"step", run.step()},
                                {"set", arguments.options.overrides},
                                {"metrics", evaluation.metrics},
                                {"signatures", run.task().Signatures()}};
  for (const auto& [name, interval] : confidence) {
    all["confidence"][name] = {{"mean", interval.mean},
                               {"half_width", interval.half_width},
                               {"low", interval.low},
                               {"high", interval.high}};
  }
  if (untouched.has_value()) {
    all["untouched"] = untouched->metrics;
    all["differences"] = differences;
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
