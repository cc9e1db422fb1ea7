// The translating program, without its main(): a program is this and its
// plug-ins.
#ifndef TOOLS_TRANSLATE_PROGRAM_H_
#define TOOLS_TRANSLATE_PROGRAM_H_

#include "experiments/tasks/plugins.h"

namespace regard {

// Translates as the command line says. Returns the exit code: 0 done, 1 the
// output could not be written, 2 wrong input or usage.
int TranslateMain(int argc, char** argv, const Plugins& plugins);

}  // namespace regard

#endif  // TOOLS_TRANSLATE_PROGRAM_H_
