// The planning program, without its main(): a program is this and its plug-ins.
#ifndef TOOLS_PLAN_PROGRAM_H_
#define TOOLS_PLAN_PROGRAM_H_

#include "experiments/tasks/plugins.h"

namespace regard {

// Prints what the experiment of the command line would take. Returns the exit
// code: 0 done, 1 the output could not be written, 2 wrong input or usage.
int PlanMain(int argc, char** argv, const Plugins& plugins);

}  // namespace regard

#endif  // TOOLS_PLAN_PROGRAM_H_
