// Validates the options of the data source `pairs`: pairs from text files.
#ifndef DATA_PAIRS_PAIRS_VALIDATION_H_
#define DATA_PAIRS_PAIRS_VALIDATION_H_

#include "options/config_problems.h"

namespace regard {

class PairsConfig;

// Adds problems at paths relative to `options`.
void ValidatePairs(const PairsConfig& options, ConfigProblems& problems);

}  // namespace regard

#endif  // DATA_PAIRS_PAIRS_VALIDATION_H_
