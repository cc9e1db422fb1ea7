// Random experiments whose options were not made to fit together.
#ifndef EXPERIMENTS_TESTING_RANDOM_COMBINATION_H_
#define EXPERIMENTS_TESTING_RANDOM_COMBINATION_H_

#include <cstdint>

#include "experiments/experiment.pb.h"

namespace regard::testing {

// Returns an experiment of two updates with a small model, for some
// milliseconds of training. Options of its attention, layers and optimizer are
// drawn, valid or not. A function of the seed.
Experiment RandomCombination(uint64_t seed);

}  // namespace regard::testing

#endif  // EXPERIMENTS_TESTING_RANDOM_COMBINATION_H_
