// All programs in one, as a package has them: regard PROGRAM ARGUMENTS...
#ifndef TOOLS_REGARD_PROGRAM_H_
#define TOOLS_REGARD_PROGRAM_H_

#include "experiments/tasks/plugins.h"

namespace regard {

// Runs the program that the first argument names with those after it, and
// returns its exit code.
int RegardMain(int argc, char** argv, const Plugins& plugins);

}  // namespace regard

#endif  // TOOLS_REGARD_PROGRAM_H_
