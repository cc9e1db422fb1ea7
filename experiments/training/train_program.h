// The training program, without its main(): a program is this and its plug-ins.
#ifndef EXPERIMENTS_TRAINING_TRAIN_PROGRAM_H_
#define EXPERIMENTS_TRAINING_TRAIN_PROGRAM_H_

#include "absl/strings/string_view.h"
#include "experiments/tasks/plugins.h"
#include "experiments/training/run_presenter.h"
#include "optimization/ranks/ranks.h"

namespace regard {

// Trains as the command line says; without --config, what `default_config`
// says. Returns the exit code (tools/README.md); 130 and 143 leave everything
// saved. Without a presenter, runs have neither a report nor events. `ranks`,
// null for one process, all call this; only rank 0 writes and prints. A code
// other than 0 and these may be that of one rank.
int TrainMain(int argc, char** argv, const Plugins& plugins,
              absl::string_view default_config, const RunPresenter* presenter,
              Ranks* ranks = nullptr);

}  // namespace regard

#endif  // EXPERIMENTS_TRAINING_TRAIN_PROGRAM_H_
