// Checks that the resolved text of a config says all that the config does.
#ifndef EXPERIMENTS_TESTING_READ_BACK_H_
#define EXPERIMENTS_TESTING_READ_BACK_H_

#include <string>

#include "experiments/experiment.pb.h"
#include "experiments/tasks/plugins.h"

namespace regard::testing {

// What is wrong with the resolved text of `config`, which is valid: it must
// read back as a config with the same values, messages and members of oneofs,
// and be valid again. Empty if nothing is wrong.
std::string ReadBackProblem(const Experiment& config, const Plugins& plugins);

}  // namespace regard::testing

#endif  // EXPERIMENTS_TESTING_READ_BACK_H_
