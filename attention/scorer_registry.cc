#include "attention/scorer_registry.h"

namespace regard {

ScorerRegistry::ScorerRegistry()
    : OptionRegistry(Attention::descriptor()->FindOneofByName("score"),
                     "additive { width: 32 }") {}

void ScorerRegistry::Validate(const Attention& config,
                              const ScoreWidths& widths,
                              ConfigProblems& problems) const {
  problems.RequireInRange("dropout", config.dropout(), 0, 0.999);
  ValidateChoice(config, problems, widths);
}

template <>
std::unique_ptr<ScoringFunction<float>> ScorerRegistry::Create(
    const Attention& config, ParameterScope<float> scope,
    const ScoreWidths& widths) const {
  return CreateBy(&ScorerInfo::create_float, config, scope, widths);
}

template <>
std::unique_ptr<ScoringFunction<double>> ScorerRegistry::Create(
    const Attention& config, ParameterScope<double> scope,
    const ScoreWidths& widths) const {
  return CreateBy(&ScorerInfo::create_double, config, scope, widths);
}

}  // namespace regard
