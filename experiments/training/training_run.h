// A training run and its run folder: starts, resumes and ends a run.
#ifndef EXPERIMENTS_TRAINING_TRAINING_RUN_H_
#define EXPERIMENTS_TRAINING_TRAINING_RUN_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "experiments/report/progress.h"
#include "experiments/run/checkpoint.h"
#include "experiments/run/environment.h"
#include "experiments/run/metric.h"
#include "experiments/run/run_folder.h"
#include "experiments/run/status.h"
#include "experiments/tasks/experiment_config.h"
#include "experiments/tasks/plugins.h"
#include "experiments/tasks/task.h"
#include "experiments/training/prepared_task.h"
#include "experiments/training/run_extension.h"
#include "experiments/training/run_presenter.h"
#include "experiments/training/trainer.h"
#include "files/file.h"
#include "optimization/evaluated_set.h"

namespace regard {

class TrainingRun {
 public:
  // `folder` is open, and contains a run to resume or is new. The model of the
  // task has its initial weights.
  TrainingRun(LoadedConfig loaded, RunFolder folder, PreparedTask fitting);

  // Writes the folder of a new run, or finds the checkpoint from which to
  // resume. Stores checkpoints in the folder `checkpoints` if it is not empty.
  // Prints the notes, except for the notes in `told`. Returns an error if the
  // input is wrong, for example if the run has another config or other data.
  absl::Status Prepare(bool resume, const std::string& checkpoints,
                       const Provenance& provenance, const Plugins& plugins,
                       absl::Span<const std::string> told = {});

  // The folder of the checkpoints, or "" if it is in the run folder.
  std::string checkpoint_folder() const {
    return checkpoint_folder_.has_value() ? checkpoint_folder_->path() : "";
  }

  // Trains until the end or until stopped. Writes status.json if training was
  // stopped or failed. Returns the signal that stopped training, or 0. Writes
  // no events if `presenter` is null, or with omit_times, because events
  // contain times.
  absl::StatusOr<int> Train(const TrainerOptions& options,
                            const Plugins& plugins,
                            const RunPresenter* presenter);

  // Writes the report of a run that has finished training, and returns the text
  // to print. `baseline` is null or has finished training, too.
  absl::StatusOr<std::string> WriteReportAndGetText(
      const RunPresenter& presenter, const TrainingRun* baseline) const;

  // Writes the final status.json. Must be called last.
  absl::Status End(RunState state);

  // Whether the run resumes from a checkpoint.
  bool resumes() const { return checkpoint_.has_value(); }
  // The number of finished optimizer steps.
  int64_t step() const { return status_.step; }
  const RunFolder& folder() const { return folder_; }
  const LoadedConfig& loaded() const { return loaded_; }
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  // Writes the files of a new run, except for the two config files.
  absl::Status WriteRunFilesExceptConfig() const;
  absl::Status WriteDescription() const;  // writes run.json
  // Changes the folder so that training continues from checkpoint_ with the new
  // config. Prints the consequences to standard error.
  absl::Status Extend(const PreviousConfigAndChanges& extension,
                      const Plugins& plugins) const;
  // Locks the checkpoint folder if it is not in the run folder. Records the
  // folder `checkpoints`, or uses the recorded folder if `checkpoints` is
  // empty.
  absl::Status LockAndRecordCheckpointFolder(const std::string& checkpoints);
  // Returns callbacks that write and print the progress. `events` may be null.
  TrainingCallbacks MakeCallbacks(FileWriter& log, Progress& progress,
                                  TrainingEvents* events) const;
  // Reads the results of the examples that the last evaluation wrote.
  absl::Status ReadExamplesAndBootstrap(const Aggregates& aggregates);

  const LoadedConfig loaded_;
  const RunFolder folder_;
  // Open, and thus locked, while checkpoints are written.
  std::optional<RunFolder> checkpoint_folder_;
  const std::unique_ptr<Task> task_;
  const std::vector<std::string> notes_;
  // SHA-256 of the data and the initial weights, by the config field that names
  // them.
  const std::map<std::string, std::string> digests_;
  Provenance provenance_;
  // The metrics of the task and of the trainer.
  const std::vector<MetricInfo> metrics_;
  std::optional<CheckpointInfo> checkpoint_;
  // The last status and the results of the dev and test examples, after
  // training.
  RunStatus status_;
  std::vector<EvaluatedSet> sets_;
};

}  // namespace regard

#endif  // EXPERIMENTS_TRAINING_TRAINING_RUN_H_
