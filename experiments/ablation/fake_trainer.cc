// Stands in for the training program in tests of the build rules: the same
// arguments, files and exit codes, with a loss that is a formula.
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "experiments/ablation/fake_experiment.pb.h"
#include "experiments/report/attention_file.h"
#include "experiments/report/run_results.h"
#include "experiments/run/examples_file.h"
#include "experiments/run/metric.h"
#include "experiments/run/metrics_log.h"
#include "experiments/run/status.h"
#include "files/file.h"
#include "optimization/evaluated_set.h"
#include "options/command_line.h"
#include "options/config_problems.h"
#include "options/reader.h"
#include "options/resolved.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard::testing {
namespace {

constexpr int kSteps = 3;

struct Arguments {
  std::string config;
  std::string run;
  std::vector<std::string> overrides;
  bool check = false;
};

bool Parse(int argc, char** argv, Arguments* arguments) {
  for (int i = 1; i < argc; ++i) {
    absl::string_view argument = argv[i];
    if (argument == "--check") {
      arguments->check = true;
    } else if (absl::ConsumePrefix(&argument, "--config=")) {
      arguments->config = std::string(argument);
    } else if (absl::ConsumePrefix(&argument, "--run=")) {
      arguments->run = std::string(argument);
    } else if (absl::ConsumePrefix(&argument, "--set=")) {
      arguments->overrides.emplace_back(argument);
    } else if (argument == "--set" && i + 1 < argc) {
      arguments->overrides.emplace_back(argv[++i]);
    } else if (argument != "--threads=1" && argument != "--omit_times") {
      return false;
    }
  }
  return true;
}

// Differs from seed to seed, and by the same for every config.
double Loss(const FakeExperiment& config, int step) {
  const double shift = config.model().has_dot() ? 0.5 : 0.25;
  const double noise = 0.125 * static_cast<double>(config.seed() % 4);
  return config.rate() * (1.0 / step + noise) + shift;
}

// One source, whose weight tells the configs apart.
std::vector<LabelledMatrix> Maps(const FakeExperiment& config) {
  const double weight = config.model().has_dot() ? 0.125 : 0.75;
  LabelledMatrix map;
  map.title = "a source";
  map.rows = {"target"};
  map.columns = {"a", "source"};
  map.heads = {{weight, 1 - weight}};
  return {map};
}

// The mean of the statistics is the loss.
EvaluatedSet Examples(double loss, double rate) {
  ExampleMetric metric = {"dev/loss"};
  EvaluatedSet set = {.length_unit = "letters"};
  for (const double off : {-0.25, -0.125, 0.0, 0.125, 0.25}) {
    metric.Add({loss + rate * off, 1});
    set.examples.push_back({absl::StrCat("example ", off), "", "output", 1});
  }
  set.metrics = {metric};
  return set;
}

absl::Status WriteRun(const Arguments& arguments, const FakeExperiment& config,
                      const std::string& resolved) {
  if (!config.pretrained().empty()) {
    REGARD_RETURN_IF_ERROR(
        ReadStatus(JoinPath(config.pretrained(), "status.json")).status());
  }
  const std::string checkpoint =
      JoinPath(arguments.run, absl::StrCat("checkpoints/step-", kSteps));
  REGARD_RETURN_IF_ERROR(MakeDirectories(checkpoint, SystemFiles()));
  const auto write = [&arguments](absl::string_view name,
                                  absl::string_view text) {
    return WriteFileAtomically(JoinPath(arguments.run, name), text);
  };
  REGARD_RETURN_IF_ERROR(write("config.textproto", "# as given\n"));
  REGARD_RETURN_IF_ERROR(write("resolved.textproto", resolved));
  REGARD_RETURN_IF_ERROR(write("environment.json", "{}\n"));
  REGARD_RETURN_IF_ERROR(
      write("run.json",
            RunDescriptionJson({{{"loss", "", "a formula", Better::kLower}}})));
  RunStatus status;
  if (config.rate() < 0) {
    status.state = RunState::kFailed;
    REGARD_RETURN_IF_ERROR(WriteStatus(arguments.run, status));
    if (config.rate() < -1) {
      return WriteError("metrics.jsonl", "write", ENOSPC);
    }
    return absl::InternalError("step 2: decoder/score: not a number");
  }
  std::string log;
  for (int step = 1; step <= kSteps; ++step) {
    status.metrics = {{"dev/loss", Loss(config, step)}};
    log +=
        MetricsLine({.step = step, .epoch = step, .metrics = status.metrics});
  }
  REGARD_RETURN_IF_ERROR(write("metrics.jsonl", log));
  REGARD_RETURN_IF_ERROR(
      write("examples.jsonl",
            ExamplesText({Examples(Loss(config, kSteps), config.rate())})));
  REGARD_RETURN_IF_ERROR(write("attention.json", AttentionJson(Maps(config))));
  REGARD_RETURN_IF_ERROR(write("report.html", "<p>a report</p>\n"));
  REGARD_RETURN_IF_ERROR(
      WriteFileAtomically(JoinPath(checkpoint, "weights.safetensors"), "w"));
  // Of a high rate, the last weights are not the best ones.
  if (config.rate() > 1) {
    REGARD_RETURN_IF_ERROR(
        WriteFileAtomically(JoinPath(checkpoint, "best.safetensors"), "best"));
  }
  status.state = RunState::kFinished;
  status.step = kSteps;
  return WriteStatus(arguments.run, status);
}

int Train(int argc, char** argv) {
  Arguments arguments;
  if (!Parse(argc, argv, &arguments)) return 2;
  FakeExperiment config;
  const absl::StatusOr<ConfigOrigins> origins =
      ReadConfig({arguments.config, {}}, arguments.overrides, &config);
  if (!origins.ok()) return ExitCode(origins.status());
  ConfigProblems problems;
  problems.CheckRanges(config.model().additive(), "model.additive");
  const absl::Status valid = LocateProblems(problems, *origins);
  if (!valid.ok()) return ExitCode(valid);
  if (arguments.check) return 0;
  const absl::Status trained =
      WriteRun(arguments, config, ResolvedConfig(config, *origins));
  if (!trained.ok()) return ExitCode(trained);
  std::printf("trained, in %s\n", arguments.run.c_str());
  return 0;
}

}  // namespace
}  // namespace regard::testing

int main(int argc, char** argv) { return regard::testing::Train(argc, argv); }
