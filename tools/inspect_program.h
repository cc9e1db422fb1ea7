// The inspecting program, without its main(): a program is this and a registry
// of the scores it knows.
#ifndef TOOLS_INSPECT_PROGRAM_H_
#define TOOLS_INSPECT_PROGRAM_H_

#include "experiments/tasks/plugins.h"

namespace regard {

// Shows what a model attends to for the sentence of the command line. Returns
// the exit code: 0 done, 1 the page or the output could not be written, 2 wrong
// input or usage.
int InspectMain(int argc, char** argv, const Plugins& plugins);

}  // namespace regard

#endif  // TOOLS_INSPECT_PROGRAM_H_
