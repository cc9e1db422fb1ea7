#include "attention/scorer_registry.h"

#include "attention/normalizers/built_in_normalizers.h"
#include "attention/position_encodings/built_in_position_encodings.h"

namespace regard {

ScorerRegistry::ScorerRegistry()
    : PluginRegistry("score", "additive { width: 32 }") {
  RegisterBuiltInNormalizers(normalizers_);
  RegisterBuiltInPositionEncodings(encodings_);
}

void ScorerRegistry::Validate(const Attention& config,
                              const ScoreWidths& widths,
                              ConfigProblems& problems) const {
  problems.RequireDropout("dropout", config.dropout());
  problems.RequireInRange("window", config.window(), 0, 1 << 30);
  ValidateChoice(config, problems, widths);
  {
    const ConfigProblems::Scope scope(problems, "normalizer");
    normalizers_.ValidateChoice(config.normalizer(), problems);
  }
  if (config.has_position_encoding()) {
    const ConfigProblems::Scope scope(problems, "position_encoding");
    encodings_.ValidateChoice(config.position_encoding(), problems, widths);
  }
}

}  // namespace regard
