// One training run and its folder: what a fresh start writes, what a resumed
// one checks, and how it ends.
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
#include "experiments/training/fitting_task.h"
#include "experiments/training/run_extension.h"
#include "experiments/training/run_presenter.h"
#include "experiments/training/trainer.h"
#include "files/file.h"
#include "optimization/evaluated_set.h"

namespace regard {

class TrainingRun {
 public:
  // `folder` is open, for a fresh run or for one to resume; the task's model
  // has the weights that training begins with.
  TrainingRun(LoadedConfig loaded, RunFolder folder, FittingTask fitting);

  // Writes the folder of a fresh run, or finds where to resume. An error is
  // wrong input: a config or data that differs from that of the run.
  // Checkpoints go to the folder `checkpoints` if it is not empty. Prints the
  // notes but for those that have been `told`.
  absl::Status Prepare(bool resume, const std::string& checkpoints,
                       const Provenance& provenance, const Plugins& plugins,
                       absl::Span<const std::string> told = {});

  // Where its checkpoints go if not into its own folder, otherwise "".
  std::string checkpoint_folder() const {
    return checkpoint_folder_.has_value() ? checkpoint_folder_->path() : "";
  }

  // Trains to the end or until stopped, and says in status.json if it was
  // stopped or failed. Returns the signal that stopped it, or 0. Without a
  // presenter or with omit_times, which events would contradict, none are
  // written.
  absl::StatusOr<int> Train(const TrainerOptions& options,
                            const Plugins& plugins,
                            const RunPresenter* presenter);

  // Once it has trained to the end: has its report written, and returns what to
  // print. `baseline`, which may be null, has trained, too.
  absl::StatusOr<std::string> Report(const RunPresenter& presenter,
                                     const TrainingRun* baseline) const;

  // Leaves the final status.json: the last thing that a run does.
  absl::Status End(RunState state);

  // Whether it goes on from a checkpoint.
  bool resumes() const { return checkpoint_.has_value(); }
  // Finished updates.
  int64_t step() const { return status_.step; }
  const RunFolder& folder() const { return folder_; }
  const LoadedConfig& loaded() const { return loaded_; }
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  // The files of a run that begins but for the config, as given and in full.
  absl::Status WriteTaskFiles() const;
  absl::Status WriteDescription() const;  // run.json
  // Changes the folder to go on with the changed config from checkpoint_, and
  // says on standard error what that means.
  absl::Status Extend(const RunExtension& extension,
                      const Plugins& plugins) const;
  // Locks the folder of the checkpoints if that is not in the run's own:
  // `checkpoints`, which gets recorded, else the one on record.
  absl::Status OpenCheckpointFolder(const std::string& checkpoints);
  // What is written and shown while it trains; `events` may be null.
  TrainingHooks Hooks(FileWriter& log, Progress& progress,
                      TrainingEvents* events) const;
  // Reads what the last evaluation wrote.
  absl::Status ReadSets(const Aggregates& aggregates);

  const LoadedConfig loaded_;
  const RunFolder folder_;
  // Held while it is written to.
  std::optional<RunFolder> checkpoint_folder_;
  const std::unique_ptr<Task> task_;
  const std::vector<std::string> notes_;
  // SHA-256 of what training begins with, by the field that names it.
  const std::map<std::string, std::string> digests_;
  Provenance provenance_;
  // Those of the task and of the trainer.
  const std::vector<MetricInfo> metrics_;
  std::optional<Checkpoint> checkpoint_;
  // Once it has trained: the last one, and what it made of the examples of dev
  // and test.
  RunStatus status_;
  std::vector<EvaluatedSet> sets_;
};

}  // namespace regard

#endif  // EXPERIMENTS_TRAINING_TRAINING_RUN_H_
