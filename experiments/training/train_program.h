// The training program without its main(). A program links this library and its
// plug-ins.
#ifndef EXPERIMENTS_TRAINING_TRAIN_PROGRAM_H_
#define EXPERIMENTS_TRAINING_TRAIN_PROGRAM_H_

#include "absl/strings/string_view.h"
#include "experiments/tasks/plugins.h"
#include "experiments/training/run_presenter.h"
#include "optimization/ranks/ranks.h"

namespace regard {

// Trains as the command line requests. Without --config, trains
// `default_config`. If `presenter` is null, runs have neither a report nor
// events. If `ranks` is not null, all ranks must call this function, but only
// rank 0 writes and prints.
//
// Returns the exit code (tools/README.md). After the codes 130 and 143,
// everything is saved. All ranks return 0, 130 or 143 together. Any other code
// may come from a single rank.
int TrainMain(int argc, char** argv, const Plugins& plugins,
              absl::string_view default_config, const RunPresenter* presenter,
              Ranks* ranks = nullptr);

}  // namespace regard

#endif  // EXPERIMENTS_TRAINING_TRAIN_PROGRAM_H_
