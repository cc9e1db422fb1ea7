// Preserves the meaning of the configs of runs that earlier versions made.
#ifndef EXPERIMENTS_TASKS_FORMER_RUNS_H_
#define EXPERIMENTS_TASKS_FORMER_RUNS_H_

#include "absl/status/statusor.h"
#include "attention/attention_registry.h"
#include "options/reader.h"

namespace regard {

class Experiment;

// Sets each field that the program of the run did not have to the value that
// reproduces its behaviour. Does nothing unless `source` is the
// resolved.textproto of a run. LoadConfig() calls this function.
void SetFormerDefaults(const ConfigPathOrText& source,
                       const AttentionRegistry& scorers, Experiment* config);

// Sets data.text_version of `config` to the value of the run, if `run` is the
// resolved.textproto of a run and `config` does not set the field. The value is
// 0 if the run was made before this field existed.
void SetFormerTextVersion(const ConfigPathOrText& run, Experiment* config);

// Reads the resolved.textproto of a run as this version would write it, to
// compare it with `config`. Applies SetFormerDefaults() and
// SetFormerTextVersion(). Also removes the search limits that earlier versions
// wrote as defaults, unless `config` sets them. Returns the errors of
// ReadConfig().
absl::StatusOr<Experiment> ReadFormerConfig(const ConfigPathOrText& run,
                                            const AttentionRegistry& scorers,
                                            const Experiment& config);

}  // namespace regard

#endif  // EXPERIMENTS_TASKS_FORMER_RUNS_H_
