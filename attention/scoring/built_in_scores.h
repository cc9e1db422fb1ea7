// Registers every scoring function of this repository.
#ifndef ATTENTION_SCORING_BUILT_IN_SCORES_H_
#define ATTENTION_SCORING_BUILT_IN_SCORES_H_

#include "attention/scorer_registry.h"

namespace regard {

extern "C" void RegisterBuiltInScores(ScorerRegistry& scorers);

}  // namespace regard

#endif  // ATTENTION_SCORING_BUILT_IN_SCORES_H_
