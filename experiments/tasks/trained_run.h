// A run folder that is read to use what was trained. Reads the folder alone:
// neither the data nor the lock of a run that may still go on.
#ifndef EXPERIMENTS_TASKS_TRAINED_RUN_H_
#define EXPERIMENTS_TASKS_TRAINED_RUN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "experiments/experiment.pb.h"
#include "experiments/tasks/plugins.h"
#include "nn/parameters.h"

namespace regard {

struct TrainedRun {
  std::string path;
  Experiment config;
  std::string weights;  // the file to use, of the newest whole checkpoint
  int64_t step = 0;     // of the weights
  std::vector<std::string> notes;  // damaged checkpoints that were passed over

  // A text that its task kept, of at most 64 MiB. One that has changed since is
  // an error.
  absl::StatusOr<std::string> ReadText(absl::string_view name) const;
  absl::Status LoadWeightsInto(ParameterStore<float>& parameters) const;
};

// `run` is a path as the user gave it. The errors of this and of the functions
// above are complete to print; they are InvalidArgument or what reading a file
// gave. Without `plugins`, which a task does not know, the config is not
// validated.
absl::StatusOr<TrainedRun> OpenTrainedRun(absl::string_view run,
                                          const Plugins* plugins = nullptr);

}  // namespace regard

#endif  // EXPERIMENTS_TASKS_TRAINED_RUN_H_
