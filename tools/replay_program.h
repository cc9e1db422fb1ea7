// Repeats the training of a part of a run. Prints the values at hook points,
// and checks that the results equal the results of the run.
#ifndef TOOLS_REPLAY_PROGRAM_H_
#define TOOLS_REPLAY_PROGRAM_H_

#include "experiments/tasks/plugins.h"

namespace regard {

// Returns an exit code: 0 for success, 1 if the output could not be written,
// and 2 for wrong input or a run whose results differ.
int ReplayMain(int argc, char** argv, const Plugins& plugins);

}  // namespace regard

#endif  // TOOLS_REPLAY_PROGRAM_H_
