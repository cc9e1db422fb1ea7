// Random experiments whose options may not match each other.
#ifndef EXPERIMENTS_TESTING_RANDOM_COMBINATION_H_
#define EXPERIMENTS_TESTING_RANDOM_COMBINATION_H_

#include <cstdint>

#include "experiments/experiment.pb.h"

namespace regard::testing {

// Returns an experiment of two optimizer steps with a small model. Its training
// takes some milliseconds. The options of its attention, layers and optimizer
// are random, and may be invalid. Depends only on the seed.
Experiment RandomCombination(uint64_t seed);

}  // namespace regard::testing

#endif  // EXPERIMENTS_TESTING_RANDOM_COMBINATION_H_
