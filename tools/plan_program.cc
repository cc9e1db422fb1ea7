#include "tools/plan_program.h"

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "autodiff/worker_pool.h"
#include "experiments/config/command_line.h"
#include "experiments/tasks/experiment_config.h"
#include "third_party/abseil_backport/status_macros.h"
#include "tools/resource_plan.h"

namespace regard {

namespace {

constexpr char kUsage[] =
    "Says what an experiment takes, without training it: layers, shapes,\n"
    "parameters, memory and work.\n\n"
    "  plan --config=FILE [--set PATH=VALUE]... [--threads=N]\n\n"
    "Sentences of a corpus that is not there: --set\n"
    "'data={placeholder {source_vocabulary: 7853 target_vocabulary: 5893}}'";

struct Arguments {
  std::string config;
  std::vector<std::string> overrides;
  int threads = HardwareThreads();
};

absl::Status ParseArguments(int argc, char** argv, Arguments* arguments) {
  CommandLine line(kUsage);
  line.Text("config", "FILE", &arguments->config, "the experiment");
  line.Repeated("set", "PATH=VALUE", &arguments->overrides,
                "changes a field of the config; may be repeated");
  line.Number("threads", &arguments->threads, 1, 1024,
              "threads of the training; without it, one per core");
  return line.Parse(argc, argv);
}

absl::Status Plan(const Arguments& arguments, const Plugins& plugins) {
  if (arguments.config.empty()) {
    return absl::InvalidArgumentError(
        "error: --config=FILE must name an experiment");
  }
  REGARD_ASSIGN_OR_RETURN(const LoadedConfig loaded,
                          LoadConfig({arguments.config, std::nullopt},
                                     arguments.overrides, plugins));
  REGARD_ASSIGN_OR_RETURN(const ResourcePlan plan,
                          MakeResourcePlan(loaded, arguments.threads, plugins));
  std::fputs(ResourcePlanText(plan, loaded.config).c_str(), stdout);
  return absl::OkStatus();
}

}  // namespace

int PlanMain(int argc, char** argv, const Plugins& plugins) {
  Arguments arguments;
  absl::Status status = ParseArguments(argc, argv, &arguments);
  if (status.ok()) status = Plan(arguments, plugins);
  return status.ok() ? FinishOutput() : ExitCode(status);
}

}  // namespace regard
