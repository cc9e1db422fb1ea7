// Preserves the meaning of configs of runs by earlier programs.
#ifndef EXPERIMENTS_TASKS_FORMER_RUNS_H_
#define EXPERIMENTS_TASKS_FORMER_RUNS_H_

#include "absl/status/statusor.h"
#include "attention/attention_registry.h"
#include "options/reader.h"

namespace regard {

class Experiment;

// Sets fields that an earlier version did not have to the values that reproduce
// its behaviour. Does nothing unless `source` is the resolved.textproto of a
// run. LoadConfig() calls this function.
void KeepFormerMeaning(const ConfigSource& source,
                       const AttentionRegistry& scorers, Experiment* config);

// Sets data.text_version of `config` to the value of the run, if `run` is its
// resolved.textproto and `config` does not set the field. The value is 0 if an
// earlier program without this field made the run.
void KeepTextVersion(const ConfigSource& run, Experiment* config);

// Reads the resolved.textproto of a run as this program would write it, to
// compare it with `config`. Applies both functions above. Also removes the
// search limits that earlier programs wrote as defaults, unless `config` sets
// them. Returns the errors of ReadConfig().
absl::StatusOr<Experiment> ReadFormerConfig(const ConfigSource& run,
                                            const AttentionRegistry& scorers,
                                            const Experiment& config);

}  // namespace regard

#endif  // EXPERIMENTS_TASKS_FORMER_RUNS_H_
