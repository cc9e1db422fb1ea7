// Trains a part of a run again. Prints the values at its hook points, and
// checks that the run repeats.
#ifndef TOOLS_REPLAY_PROGRAM_H_
#define TOOLS_REPLAY_PROGRAM_H_

#include "experiments/tasks/plugins.h"

namespace regard {

// Returns an exit code: 0 for success, 1 if the output could not be written, 2
// for wrong input or a run that does not repeat.
int ReplayMain(int argc, char** argv, const Plugins& plugins);

}  // namespace regard

#endif  // TOOLS_REPLAY_PROGRAM_H_
