// A run folder that is read to use its trained model, or to begin another
// training with its weights (training.initial_weights). Does not read the data
// and does not lock the folder, so the run may still be training. A Hugging
// Face model folder is read as the equivalent run.
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
  // Path of the weights to use, from the newest valid checkpoint.
  std::string weights;
  int64_t step = 0;  // the step of the weights
  // Damaged checkpoints that were ignored, and overrides without effect.
  std::vector<std::string> notes;
  // Set if the folder is a Hugging Face model folder. `weights` is then empty,
  // and `step` is 0.
  std::optional<PretrainedFolder> pretrained = std::nullopt;

  // Reads a text that the task stored, of at most 64 MiB. Returns an error if
  // the text has changed since.
  absl::StatusOr<std::string> ReadText(absl::string_view name) const;
  // Loads the weights into finalized parameters. If the run is still training
  // and has removed its checkpoint, loads a newer one. See
  // PretrainedWeights::Load() for `kept`, which is only used for Hugging Face
  // model folders.
  absl::Status LoadWeightsInto(ParameterStore<float>& parameters,
                               std::vector<std::string>* kept = nullptr);
  // Finds the newest valid checkpoint, and sets `weights`, `step` and `notes`.
  absl::Status FindNewest();
};

// Opens the run in the folder `run`, a path as the user typed it. If `plugins`
// is null, the config is not validated, and Hugging Face model folders are not
// supported. Tasks pass null, because they do not know the plug-ins.
// `overrides` have the form of `--set`. Error messages are complete to print,
// here and above. The code is InvalidArgument, or the code of the file that
// could not be read.
absl::StatusOr<TrainedRun> OpenTrainedRun(
    absl::string_view run, const Plugins* plugins = nullptr,
    absl::Span<const std::string> overrides = {});

// Loads the weights that `training` names, if any, into the task's model. Adds
// to `problems` what is wrong with the run or does not match this one. Averages
// are computed in double precision, from the earliest checkpoint to the last.
// Returns notes for the user: damaged checkpoints that were ignored, and
// parameters that a Hugging Face model folder lacks. Returns an error if the
// machine failed to read the run.
absl::StatusOr<std::vector<std::string>> LoadInitialWeights(
    const Training& training, const Plugins& plugins, Task& task,
    ConfigProblems& problems);

}  // namespace regard

#endif  // EXPERIMENTS_TASKS_TRAINED_RUN_H_
