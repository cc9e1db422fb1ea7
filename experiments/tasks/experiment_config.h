// Reads and validates the config of an experiment, and builds the task that it
// describes.
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

// Adds all errors that can be found without reading data files, and a note for
// each field without effect.
void ValidateExperiment(const Experiment& config, const Plugins& plugins,
                        ConfigProblems& problems);

struct LoadedConfig {
  Experiment config;
  // The complete config, with the source of each value.
  std::string resolved = {};
  ConfigOrigins origins = {};
  std::vector<std::string> notes = {};                     // see ConfigProblems
  std::shared_ptr<const LoadedConfig> baseline = nullptr;  // see LoadBaseline
};

// Reads and validates a config. Error messages can be printed as they are. If
// training begins from a Hugging Face model folder, the config takes precedence
// over the config of the folder (folder_config.h).
absl::StatusOr<LoadedConfig> LoadConfig(const ConfigPathOrText& source,
                                        absl::Span<const std::string> overrides,
                                        const Plugins& plugins);

// Like LoadConfig(), but each override states where the user wrote it.
absl::StatusOr<LoadedConfig> LoadConfigWith(
    const ConfigPathOrText& source,
    absl::Span<const ConfigTextWithOrigin> overrides, const Plugins& plugins);

// Sets run.baseline to the config of `run` with its baseline overrides. Does
// nothing without such overrides. Errors state positions in the texts of the
// run.
absl::Status LoadBaseline(const Plugins& plugins, LoadedConfig& run);

// Builds the task of a valid config. `read_run_file` reads files of the run
// that is resumed, and is null for a new run. Errors are about data files and
// state the position in the file. If `finalize` is false, the parameters may
// have no values. The parameters of a model of any size can then be counted.
absl::StatusOr<std::unique_ptr<Task>> BuildTask(
    const Experiment& config, const Plugins& plugins,
    const ReadRunFile& read_run_file = nullptr, bool finalize = true);

// Adds problems that can only be found after the data were read. A task with a
// problem must not be trained. Examples of problems:
//   * a model that does not fit into memory,
//   * fields that contradict the data, and
//   * a batch of several shards although the loss couples its examples.
void ValidateTask(Task& task, const Experiment& config,
                  ConfigProblems& problems);

// Adds an error if the schedule or early stopping requires a metric that
// evaluations on dev do not measure. If there is no dev split, adds a note
// instead.
void ValidateWatchedMetrics(const Task& task, const Experiment& config,
                            const Plugins& plugins, ConfigProblems& problems);

}  // namespace regard

#endif  // EXPERIMENTS_TASKS_EXPERIMENT_CONFIG_H_
