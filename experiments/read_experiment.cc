#include "experiments/read_experiment.h"

#include "experiments/build_task.h"
#include "nn/config_problems.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

absl::StatusOr<ConfigOrigins> ReadExperiment(
    const ConfigSource& source, absl::Span<const std::string> overrides,
    const ScorerRegistry& scorers, Experiment* config) {
  REGARD_ASSIGN_OR_RETURN(ConfigOrigins origins,
                          ReadConfig(source, overrides, config));
  ConfigProblems problems;
  ValidateExperiment(*config, scorers, problems);
  REGARD_RETURN_IF_ERROR(LocateProblems(problems, origins));
  return origins;
}

}  // namespace regard
