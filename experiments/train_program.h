// The training program, without its main(): a program is this and a registry of
// the scores it knows.
#ifndef EXPERIMENTS_TRAIN_PROGRAM_H_
#define EXPERIMENTS_TRAIN_PROGRAM_H_

#include "absl/strings/string_view.h"
#include "attention/scorer_registry.h"

namespace regard {

// Trains as the command line says; without --config, what `default_config`
// says. Returns the exit code: 0 done, 1 failed inside, 2 wrong input or usage,
// 130 and 143 interrupted with everything saved.
int TrainMain(int argc, char** argv, const ScorerRegistry& scorers,
              absl::string_view default_config);

}  // namespace regard

#endif  // EXPERIMENTS_TRAIN_PROGRAM_H_
