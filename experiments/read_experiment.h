// Reads an experiment from its config files and checks it.
#ifndef EXPERIMENTS_READ_EXPERIMENT_H_
#define EXPERIMENTS_READ_EXPERIMENT_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "attention/scorer_registry.h"
#include "experiments/config/origins.h"
#include "experiments/config/reader.h"
#include "experiments/experiment.pb.h"

namespace regard {

// As ReadConfig(), and everything that is wrong with what was read is an error
// too, complete to print.
absl::StatusOr<ConfigOrigins> ReadExperiment(
    const ConfigSource& source, absl::Span<const std::string> overrides,
    const ScorerRegistry& scorers, Experiment* config);

}  // namespace regard

#endif  // EXPERIMENTS_READ_EXPERIMENT_H_
