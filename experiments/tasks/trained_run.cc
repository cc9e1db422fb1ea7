#include "experiments/tasks/trained_run.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "experiments/config/origins.h"
#include "experiments/config/reader.h"
#include "experiments/run/checkpoint.h"
#include "experiments/run/environment.h"
#include "experiments/run/run_description.h"
#include "experiments/tasks/experiment_config.h"
#include "files/file.h"
#include "nn/config_problems.h"
#include "nn/weights.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

absl::StatusOr<std::string> TrainedRun::ReadText(absl::string_view name) const {
  REGARD_ASSIGN_OR_RETURN(std::string text,
                          WithErrorPrefix(ReadFile(JoinPath(path, name))));
  REGARD_RETURN_IF_ERROR(WithErrorPrefix(CheckRunFile(path, name, text)));
  return text;
}

absl::Status TrainedRun::LoadWeightsInto(
    ParameterStore<float>& parameters) const {
  return WithErrorPrefix(LoadWeights(weights, parameters));
}

absl::StatusOr<TrainedRun> OpenTrainedRun(absl::string_view run,
                                          const Plugins* plugins) {
  if (run.empty()) {
    return absl::InvalidArgumentError(
        "error: --run=DIR must name the folder of a run; "
        "//experiments:train makes one");
  }
  TrainedRun trained;
  trained.path = ResolveUserPath(run);
  REGARD_RETURN_IF_ERROR(ReadRunDescription(trained.path).status());
  const std::string config = JoinPath(trained.path, "resolved.textproto");
  REGARD_ASSIGN_OR_RETURN(const std::string resolved,
                          WithErrorPrefix(ReadFile(config)));
  REGARD_ASSIGN_OR_RETURN(const ConfigOrigins origins,
                          ReadConfig({config, resolved}, {}, &trained.config));
  if (plugins != nullptr) {
    ConfigProblems problems;
    ValidateExperiment(trained.config, *plugins, problems);
    REGARD_RETURN_IF_ERROR(LocateProblems(problems, origins));
  }
  REGARD_ASSIGN_OR_RETURN(FoundCheckpoints latest,
                          WithErrorPrefix(FindCheckpoints(trained.path)));
  trained.notes = std::move(latest.notes);
  if (latest.checkpoints.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("error: ", trained.path, " has no whole checkpoint"));
  }
  trained.step = latest.checkpoints[0].step;
  trained.weights = latest.checkpoints[0].ChosenWeightsPath();
  return trained;
}

}  // namespace regard
