// The training program, without its main(): a program is this and its plug-ins.
#ifndef EXPERIMENTS_TRAINING_TRAIN_PROGRAM_H_
#define EXPERIMENTS_TRAINING_TRAIN_PROGRAM_H_

#include "absl/strings/string_view.h"
#include "experiments/tasks/plugins.h"
#include "optimization/ranks/ranks.h"

namespace regard {

// Trains as the command line says; without --config, what `default_config`
// says. Returns the exit code (tools/README.md); 130 and 143 leave everything
// saved. `ranks`, null for one process, all call this; rank 0 alone writes and
// prints. A code other than 0 and these may be that of one rank alone.
int TrainMain(int argc, char** argv, const Plugins& plugins,
              absl::string_view default_config, Ranks* ranks = nullptr);

}  // namespace regard

#endif  // EXPERIMENTS_TRAINING_TRAIN_PROGRAM_H_
