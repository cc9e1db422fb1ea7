// From a config to what it describes.
#ifndef EXPERIMENTS_TASKS_EXPERIMENT_CONFIG_H_
#define EXPERIMENTS_TASKS_EXPERIMENT_CONFIG_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "data/data_source.h"
#include "experiments/experiment.pb.h"
#include "experiments/tasks/plugins.h"
#include "experiments/tasks/task.h"
#include "options/config_problems.h"
#include "options/config_text.h"
#include "options/reader.h"

namespace regard {

// Adds everything that is wrong with `config`, or has no effect, short of its
// data files.
void ValidateExperiment(const Experiment& config, const Plugins& plugins,
                        ConfigProblems& problems);

struct LoadedConfig {
  Experiment config;
  std::string resolved = {};  // in full, with where each value came from
  ConfigOrigins origins = {};
  std::vector<std::string> notes = {};                     // see ConfigProblems
  std::shared_ptr<const LoadedConfig> baseline = nullptr;  // see LoadBaseline
};

// Reads and validates; the error is complete to print. A config that begins
// with a folder of Hugging Face's goes over what that says (folder_config.h).
absl::StatusOr<LoadedConfig> LoadConfig(const ConfigSource& source,
                                        absl::Span<const std::string> overrides,
                                        const Plugins& plugins);

// The same with overrides that say where the user wrote them.
absl::StatusOr<LoadedConfig> LoadConfigWith(
    const ConfigSource& source, absl::Span<const ConfigText> overrides,
    const Plugins& plugins);

// Sets run.baseline if there are overrides for it: the config of `run` with
// them. An error shows what is wrong where the run's texts say it.
absl::Status LoadBaseline(const Plugins& plugins, LoadedConfig& run);

// `config` is valid. `read_run_file` is that of a run to resume. An error is
// about data files, and says where in them. Without `finalize` the model's
// parameters may have no values: they can be counted whatever their size.
absl::StatusOr<std::unique_ptr<Task>> BuildTask(
    const Experiment& config, const Plugins& plugins,
    const ReadRunFile& read_run_file = nullptr, bool finalize = true);

// Adds what in `config` does not fit its task now that the data was read: a
// model that does not fit into memory, fields that the data contradicts, and
// shards of batches whose loss couples their examples. A task with a problem is
// not to be trained.
void ValidateTask(Task& task, const Experiment& config,
                  ConfigProblems& problems);

// Adds the metrics that the schedule and early stopping watch if evaluations on
// dev do not measure them: such a run cannot be trained. Without a dev split
// there is nothing to watch, which is a note.
void ValidateWatchedMetrics(const Task& task, const Experiment& config,
                            const Plugins& plugins, ConfigProblems& problems);

}  // namespace regard

#endif  // EXPERIMENTS_TASKS_EXPERIMENT_CONFIG_H_
