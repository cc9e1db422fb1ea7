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
#include "tools/programs.h"
#include "tools/resource_plan.h"

namespace regard {

namespace {

constexpr char kUsage[] =
    "Says what an experiment takes, without training it: layers, shapes,\n"
    "parameters, memory and work.\n\n"
    "  plan --config=FILE [--set PATH=VALUE]... [--threads=N]\n\n"
    "Sentences of a corpus that is not there: --set\n"
    "'data={placeholder {source_vocabulary: 7853 target_vocabulary: 5893}}'";

absl::Status Plan(int argc, char** argv, const Plugins& plugins) {
  std::string config;
  std::vector<std::string> overrides;
  int threads = HardwareThreads();
  CommandLine line(kUsage);
  line.Text("config", "FILE", &config, "the experiment");
  line.Repeated("set", "PATH=VALUE", &overrides,
                "changes a field of the config; may be repeated");
  line.Number("threads", &threads, 1, 1024,
              "threads of the training; without it, one per core");
  REGARD_RETURN_IF_ERROR(line.Parse(argc, argv));
  if (config.empty()) {
    return absl::InvalidArgumentError(
        "error: --config=FILE must name an experiment");
  }
  REGARD_ASSIGN_OR_RETURN(
      const LoadedConfig loaded,
      LoadConfig({config, std::nullopt}, overrides, plugins));
  REGARD_ASSIGN_OR_RETURN(const ResourcePlan plan,
                          MakeResourcePlan(loaded, threads, plugins));
  std::fputs(ResourcePlanText(plan, loaded.config).c_str(), stdout);
  return absl::OkStatus();
}

}  // namespace

int PlanMain(int argc, char** argv, const Plugins& plugins) {
  return ExitCode(Plan(argc, argv, plugins));
}

}  // namespace regard
