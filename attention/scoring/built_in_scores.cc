#include "attention/scoring/built_in_scores.h"

namespace regard {

// Each is defined by REGARD_SCORING_FUNCTION in the file of its name.
extern "C" void RegisterAdditive(ScorerRegistry& scorers);
extern "C" void RegisterAverage(ScorerRegistry& scorers);
extern "C" void RegisterBilinear(ScorerRegistry& scorers);
extern "C" void RegisterConcat(ScorerRegistry& scorers);
extern "C" void RegisterCosine(ScorerRegistry& scorers);
extern "C" void RegisterCoverage(ScorerRegistry& scorers);
extern "C" void RegisterDot(ScorerRegistry& scorers);
extern "C" void RegisterGaussian(ScorerRegistry& scorers);
extern "C" void RegisterKernel(ScorerRegistry& scorers);
extern "C" void RegisterLocation(ScorerRegistry& scorers);
extern "C" void RegisterLocationAware(ScorerRegistry& scorers);
extern "C" void RegisterParametricGaussian(ScorerRegistry& scorers);
extern "C" void RegisterRelativeDot(ScorerRegistry& scorers);
extern "C" void RegisterScaledBilinear(ScorerRegistry& scorers);
extern "C" void RegisterScaledDot(ScorerRegistry& scorers);

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
