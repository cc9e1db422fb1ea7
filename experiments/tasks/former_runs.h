// Keeps what the configs of runs by earlier programs meant.
#ifndef EXPERIMENTS_TASKS_FORMER_RUNS_H_
#define EXPERIMENTS_TASKS_FORMER_RUNS_H_

#include "absl/status/statusor.h"
#include "attention/attention_registry.h"
#include "options/reader.h"

namespace regard {

class Experiment;

// Where `source` is the resolved.textproto of a run, gives fields that a former
// version did not have the value that says what it did. LoadConfig() does.
void KeepFormerMeaning(const ConfigSource& source,
                       const AttentionRegistry& scorers, Experiment* config);

// If `run` is the resolved.textproto of a run, and `config` has no
// data.text_version, sets it to the run's: 0 if the run was made by a program
// without this field.
void KeepTextVersion(const ConfigSource& run, Experiment* config);

// Reads the resolved.textproto of a run to resume as this program would write
// it, to be compared with `config`: as both functions above keep it, and
// without the limits of a search that earlier programs wrote as defaults,
// unless `config` sets them. The errors are ReadConfig's.
absl::StatusOr<Experiment> ReadFormerConfig(const ConfigSource& run,
                                            const AttentionRegistry& scorers,
                                            const Experiment& config);

}  // namespace regard

#endif  // EXPERIMENTS_TASKS_FORMER_RUNS_H_
