// The generating program, without its main(): a program is this and its
// plug-ins.
#ifndef TOOLS_GENERATE_PROGRAM_H_
#define TOOLS_GENERATE_PROGRAM_H_

#include "experiments/tasks/plugins.h"

namespace regard {

// Generates text as the command line says. Returns the exit code: 0 done, 1 the
// output could not be written, 2 wrong input or usage.
int GenerateMain(int argc, char** argv, const Plugins& plugins);

}  // namespace regard

#endif  // TOOLS_GENERATE_PROGRAM_H_
