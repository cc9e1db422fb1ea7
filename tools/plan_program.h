// The planning program, without its main(): a program is this and a registry of
// the scores it knows.
#ifndef TOOLS_PLAN_PROGRAM_H_
#define TOOLS_PLAN_PROGRAM_H_

#include "attention/scorer_registry.h"

namespace regard {

// Prints what the experiment of the command line would take. Returns the exit
// code: 0 done, 2 wrong input or usage.
int PlanMain(int argc, char** argv, const ScorerRegistry& scorers);

}  // namespace regard

#endif  // TOOLS_PLAN_PROGRAM_H_
