// All programs in one: regard PROGRAM ARGUMENTS... A link to it with the name
// of a program, such as `predict` or `my_train_predict`, runs that program.
#ifndef TOOLS_REGARD_PROGRAM_H_
#define TOOLS_REGARD_PROGRAM_H_

#include "experiments/tasks/plugins.h"

namespace regard {

// Runs the program that argv[0] names. If it names none, the first argument
// does, and the program gets the remaining arguments. Returns the exit code.
int RegardMain(int argc, char** argv, const Plugins& plugins);

}  // namespace regard

#endif  // TOOLS_REGARD_PROGRAM_H_
