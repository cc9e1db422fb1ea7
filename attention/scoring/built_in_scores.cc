#include "attention/scoring/built_in_scores.h"

namespace regard {

// Each is defined by REGARD_SCORING_FUNCTION in the file of its name.
void RegisterAdditive(ScorerRegistry& scorers);
void RegisterAverage(ScorerRegistry& scorers);
void RegisterBilinear(ScorerRegistry& scorers);
void RegisterConcat(ScorerRegistry& scorers);
void RegisterCosine(ScorerRegistry& scorers);
void RegisterCoverage(ScorerRegistry& scorers);
void RegisterDot(ScorerRegistry& scorers);
void RegisterGaussian(ScorerRegistry& scorers);
void RegisterKernel(ScorerRegistry& scorers);
void RegisterLocation(ScorerRegistry& scorers);
void RegisterLocationAware(ScorerRegistry& scorers);
void RegisterParametricGaussian(ScorerRegistry& scorers);
void RegisterRelativeDot(ScorerRegistry& scorers);
void RegisterScaledBilinear(ScorerRegistry& scorers);
void RegisterScaledDot(ScorerRegistry& scorers);

void RegisterBuiltInScores(ScorerRegistry& scorers) {
  RegisterAdditive(scorers);
  RegisterAverage(scorers);
  RegisterBilinear(scorers);
  RegisterConcat(scorers);
  RegisterCosine(scorers);
  RegisterCoverage(scorers);
  RegisterDot(scorers);
  RegisterGaussian(scorers);
  RegisterKernel(scorers);
  RegisterLocation(scorers);
  RegisterLocationAware(scorers);
  RegisterParametricGaussian(scorers);
  RegisterRelativeDot(scorers);
  RegisterScaledBilinear(scorers);
  RegisterScaledDot(scorers);
}

}  // namespace regard
