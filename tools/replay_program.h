// A part of a run, trained again: what its sites held, and whether it is the
// same run.
#ifndef TOOLS_REPLAY_PROGRAM_H_
#define TOOLS_REPLAY_PROGRAM_H_

#include "experiments/tasks/plugins.h"

namespace regard {

// Returns an exit code: 0 done, 1 what was seen could not be written, 2 wrong
// input, or a run that does not repeat.
int ReplayMain(int argc, char** argv, const Plugins& plugins);

}  // namespace regard

#endif  // TOOLS_REPLAY_PROGRAM_H_
