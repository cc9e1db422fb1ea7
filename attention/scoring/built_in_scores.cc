#include "attention/scoring/built_in_scores.h"

namespace regard {

// Each is defined by REGARD_SCORING_FUNCTION in the file of its name.
void RegisterAdditive(ScorerRegistry& scorers);
void RegisterAverage(ScorerRegistry& scorers);
void RegisterDot(ScorerRegistry& scorers);
void RegisterKernel(ScorerRegistry& scorers);
void RegisterParametricGaussian(ScorerRegistry& scorers);

void RegisterBuiltInScores(ScorerRegistry& scorers) {
  RegisterAdditive(scorers);
  RegisterAverage(scorers);
  RegisterDot(scorers);
  RegisterKernel(scorers);
  RegisterParametricGaussian(scorers);
}

}  // namespace regard
