// The translating program, without its main(): a program is this and a registry
// of the scores it knows.
#ifndef TOOLS_TRANSLATE_PROGRAM_H_
#define TOOLS_TRANSLATE_PROGRAM_H_

#include "attention/scorer_registry.h"

namespace regard {

// Translates as the command line says. Returns the exit code: 0 done, 1 the
// output could not be written, 2 wrong input or usage.
int TranslateMain(int argc, char** argv, const ScorerRegistry& scorers);

}  // namespace regard

#endif  // TOOLS_TRANSLATE_PROGRAM_H_
