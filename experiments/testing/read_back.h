// Checks that the resolved text of a config contains the whole config.
#ifndef EXPERIMENTS_TESTING_READ_BACK_H_
#define EXPERIMENTS_TESTING_READ_BACK_H_

#include <string>

#include "experiments/experiment.pb.h"
#include "experiments/tasks/plugins.h"

namespace regard::testing {

// Returns a problem with the resolved text of a valid config, or "" if there is
// none. Reading the text must give a valid config with the same values,
// messages and members of oneofs.
std::string FindRoundTripProblem(const Experiment& config,
                                 const Plugins& plugins);

}  // namespace regard::testing

#endif  // EXPERIMENTS_TESTING_READ_BACK_H_
