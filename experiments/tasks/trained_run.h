// A run folder that is read to use what was trained, or to begin a training
// with it (training.initial_weights). Reads the folder alone: neither the data
// nor the lock of a run that may still go on. A folder of Hugging Face's is
// read as the run that it would be.
#ifndef EXPERIMENTS_TASKS_TRAINED_RUN_H_
#define EXPERIMENTS_TASKS_TRAINED_RUN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "experiments/experiment.pb.h"
#include "experiments/tasks/plugins.h"
#include "experiments/tasks/task.h"
#include "nn/parameters.h"
#include "options/config_problems.h"
#include "options/reader.h"
#include "pretrained/pretrained_folder.h"

namespace regard {

struct TrainedRun {
  std::string path;
  Experiment config;
  ConfigOrigins origins;
  std::string weights;  // the file to use, of the newest whole checkpoint
  int64_t step = 0;     // of the weights
  // Damaged checkpoints that were ignored, and overrides without effect.
  std::vector<std::string> notes;
  // Where the run is none, but a folder of Hugging Face's; it has no weights
  // file to name, and no step.
  std::optional<PretrainedFolder> pretrained = std::nullopt;

  // A text that its task kept, of at most 64 MiB. One that has changed since is
  // an error.
  absl::StatusOr<std::string> ReadText(absl::string_view name) const;
  // Into finalized parameters. Those of a newer checkpoint, if a training that
  // goes on has removed the one that was found. `kept` is as of
  // PretrainedWeights::Load(), for folders of Hugging Face's alone.
  absl::Status LoadWeightsInto(ParameterStore<float>& parameters,
                               std::vector<std::string>* kept = nullptr);
  // Sets `weights`, `step` and `notes`.
  absl::Status FindNewest();
};

// `run` is a path as the user gave it. The errors of this and of the functions
// above are complete to print; they are InvalidArgument or what reading a file
// gave. Without `plugins`, which a task does not know, the config is not
// validated, and folders of Hugging Face's are not read. `overrides` are as of
// `--set`.
absl::StatusOr<TrainedRun> OpenTrainedRun(
    absl::string_view run, const Plugins* plugins = nullptr,
    absl::Span<const std::string> overrides = {});

// Gives the task's model the weights that `training` names, if it names any.
// What is wrong with the run, or does not fit this one, is added to `problems`.
// A mean is computed in double precision, from the earliest checkpoint to the
// last. Returns notes for the user: the damaged checkpoints that were passed
// over, parameters that a folder of Hugging Face's lacks; or the failure of the
// machine to read the run.
absl::StatusOr<std::vector<std::string>> LoadInitialWeights(
    const Training& training, const Plugins& plugins, Task& task,
    ConfigProblems& problems);

}  // namespace regard

#endif  // EXPERIMENTS_TASKS_TRAINED_RUN_H_
