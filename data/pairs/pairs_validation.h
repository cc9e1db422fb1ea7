// What is wrong with the options of sentence pairs of text files.
#ifndef DATA_PAIRS_PAIRS_VALIDATION_H_
#define DATA_PAIRS_PAIRS_VALIDATION_H_

#include "options/config_problems.h"

namespace regard {

class PairsConfig;

// Adds problems under paths relative to `options`.
void ValidatePairs(const PairsConfig& options, ConfigProblems& problems);

}  // namespace regard

#endif  // DATA_PAIRS_PAIRS_VALIDATION_H_
