// All programs in one: regard PROGRAM ARGUMENTS... A link to `regard` whose
// name is or ends with the name of a program, such as `predict` or
// `my_train_predict`, runs this program.
#ifndef TOOLS_REGARD_PROGRAM_H_
#define TOOLS_REGARD_PROGRAM_H_

#include "experiments/tasks/plugins.h"

namespace regard {

// Runs the program that argv[0] names. If argv[0] does not name a program,
// argv[1] must name it, and the remaining arguments are passed to it. Returns
// the exit code.
int RegardMain(int argc, char** argv, const Plugins& plugins);

}  // namespace regard

#endif  // TOOLS_REGARD_PROGRAM_H_
