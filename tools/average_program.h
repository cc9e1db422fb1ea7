// The averaging program, without its main(): a program is this and its
// plug-ins.
#ifndef TOOLS_AVERAGE_PROGRAM_H_
#define TOOLS_AVERAGE_PROGRAM_H_

#include "experiments/tasks/plugins.h"

namespace regard {

// Makes the run that the command line asks for: the mean of the weights at
// checkpoints of another one. Returns the exit code of TrainMain.
int AverageMain(int argc, char** argv, const Plugins& plugins);

}  // namespace regard

#endif  // TOOLS_AVERAGE_PROGRAM_H_
