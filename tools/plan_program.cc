#include "tools/plan_program.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "experiments/command_line.h"
#include "experiments/read_experiment.h"
#include "experiments/resource_plan.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

constexpr char kUsage[] =
    "Says what an experiment takes, without training it: layers, shapes,\n"
    "parameters, memory and work.\n\n"
    "  plan --config=FILE [--set PATH=VALUE]... [--threads=N]\n"
    "       [--source_vocabulary=N --target_vocabulary=N\n"
    "        [--source_words=N] [--target_words=N]]";
constexpr int kMostVocabulary = 10'000'000;
constexpr int kMostWords = 10'000;

struct Arguments {
  std::string config;
  std::vector<std::string> overrides;
  int threads = 0;
  AssumedSentences assumed;
};

absl::Status ParseArguments(int argc, char** argv, Arguments* arguments) {
  CommandLine line(kUsage);
  AssumedSentences& assumed = arguments->assumed;
  line.Text("config", &arguments->config, "the experiment");
  line.Repeated("set", &arguments->overrides,
                "changes a field of the config; may be repeated");
  line.Number("threads", &arguments->threads, 1, 1024,
              "threads of the training; without it, one per core");
  line.Number("source_vocabulary", &assumed.source_vocabulary, 4,
              kMostVocabulary,
              "words a side, reserved ones included; data is then not read");
  line.Number("target_vocabulary", &assumed.target_vocabulary, 4,
              kMostVocabulary, "goes with --source_vocabulary");
  line.Number("source_words", &assumed.source_words, 1, kMostWords,
              "of a sentence, where data is not read; 10 if not given");
  line.Number("target_words", &assumed.target_words, 1, kMostWords, "likewise");
  return line.Parse(argc, argv);
}

absl::Status Plan(const Arguments& arguments, const ScorerRegistry& scorers) {
  const auto error = [](const char* message) {
    return absl::InvalidArgumentError(message);
  };
  if (arguments.config.empty()) {
    return error("error: --config=FILE must name an experiment");
  }
  Experiment config;
  REGARD_RETURN_IF_ERROR(ReadExperiment({arguments.config, std::nullopt},
                                        arguments.overrides, scorers, &config)
                             .status());
  std::optional<AssumedSentences> assumed;
  const bool source = arguments.assumed.source_vocabulary > 0;
  const bool target = arguments.assumed.target_vocabulary > 0;
  if (source != target) {
    return error(
        "error: --source_vocabulary and --target_vocabulary go together");
  }
  if (source && !config.model().has_decoder()) {
    return error("error: --source_vocabulary: this model reads no words");
  }
  if (source) assumed = arguments.assumed;
  const int threads =
      arguments.threads > 0
          ? arguments.threads
          : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  REGARD_ASSIGN_OR_RETURN(const ResourcePlan plan,
                          MakeResourcePlan(config, threads, scorers, assumed));
  std::fputs(ResourcePlanText(plan, config).c_str(), stdout);
  return absl::OkStatus();
}

}  // namespace

int PlanMain(int argc, char** argv, const ScorerRegistry& scorers) {
  Arguments arguments;
  absl::Status status = ParseArguments(argc, argv, &arguments);
  if (absl::IsCancelled(status)) {
    std::fputs(std::string(status.message()).c_str(), stdout);
    return 0;
  }
  if (status.ok()) status = Plan(arguments, scorers);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return 2;
}

}  // namespace regard
