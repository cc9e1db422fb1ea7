// Reads a run folder to use its trained model, or to begin another run with its
// weights (training.initial_weights). Does not read the data and does not lock
// the folder, so the run may still be training. A Hugging Face model folder is
// read as the equivalent run.
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
  std::optional<PretrainedRun> pretrained = std::nullopt;

  // Reads a text of at most 64 MiB that the task stored. Returns an error if
  // the text has changed since the run stored it.
  absl::StatusOr<std::string> ReadText(absl::string_view name) const;
  // Loads the weights into finalized parameters. A run that is still training
  // may have removed the checkpoint. In this case, loads a newer one. `kept` is
  // only used for Hugging Face model folders; see PretrainedWeights::Load().
  absl::Status LoadWeightsInto(ParameterStore<float>& parameters,
                               std::vector<std::string>* kept = nullptr);
  // Finds the newest valid checkpoint, and sets `weights`, `step` and `notes`.
  absl::Status UseNewestCheckpoint();
};

// Opens the run in the folder `run`, a path as the user typed it. If `plugins`
// is null, the config is not validated, and Hugging Face model folders are not
// supported. Tasks pass null, because they do not have the plug-ins.
// `overrides` have the form of `--set`. The error messages of this function and
// of TrainedRun can be printed as they are. Their code is InvalidArgument, or
// the code of the file that could not be read.
absl::StatusOr<TrainedRun> OpenTrainedRun(
    absl::string_view run, const Plugins* plugins = nullptr,
    absl::Span<const std::string> overrides = {});

// Loads the weights that `training` names, if any, into the task's model. Adds
// a problem if something is wrong with the other run, or if it does not match
// the task. An average is computed in double precision, from the earliest
// checkpoint to the last. Returns an error if reading the run fails. Otherwise,
// returns notes for the user:
//   * about damaged checkpoints that were ignored, and
//   * about parameters that a Hugging Face model folder lacks.
absl::StatusOr<std::vector<std::string>> LoadInitialWeights(
    const Training& training, const Plugins& plugins, Task& task,
    ConfigProblems& problems);

}  // namespace regard

#endif  // EXPERIMENTS_TASKS_TRAINED_RUN_H_
