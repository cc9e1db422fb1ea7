// The training program, without its main(): a program is this and its plug-ins.
#ifndef EXPERIMENTS_TRAINING_TRAIN_PROGRAM_H_
#define EXPERIMENTS_TRAINING_TRAIN_PROGRAM_H_

#include "absl/strings/string_view.h"
#include "experiments/tasks/plugins.h"

namespace regard {

// Trains as the command line says; without --config, what `default_config`
// says. Returns the exit code (tools/README.md); 130 and 143 leave everything
// saved.
int TrainMain(int argc, char** argv, const Plugins& plugins,
              absl::string_view default_config);

}  // namespace regard

#endif  // EXPERIMENTS_TRAINING_TRAIN_PROGRAM_H_
