// The scoring functions that a program knows, by the message of their options,
// and what else an attention config chooses.
#ifndef ATTENTION_SCORER_REGISTRY_H_
#define ATTENTION_SCORER_REGISTRY_H_

#include <memory>

#include "attention/attention.pb.h"
#include "attention/normalizer.h"
#include "attention/position_encoding.h"
#include "attention/scoring_function.h"
#include "nn/config_problems.h"
#include "nn/option_registry.h"
#include "nn/parameters.h"

namespace regard {

// Makes a score whose parameters go under the scope.
template <typename T>
using ScorerFactory =
    OptionFactory<ScoringFunction<T>, ParameterScope<T>, const ScoreWidths&>;

// The description is the score's formula: "q . k".
struct ScorerInfo : NumericInfo<ScorerFactory, ScoreWidths> {
  bool position_aware;
  bool uses_history;
  bool grouped_heads;

  template <typename Scorer>
  void Describe() {
    position_aware = Scorer::kPositionAware;
    uses_history = Scorer::kUsesHistory;
    grouped_heads = Scorer::kGroupedHeads;
  }
};

class ScorerRegistry : public PluginRegistry<Attention, ScorerInfo> {
 public:
  ScorerRegistry();

  // The normalizers and position encodings of the config; the built-in ones
  // are registered.
  NormalizerRegistry& normalizers() { return normalizers_; }
  const NormalizerRegistry& normalizers() const { return normalizers_; }
  PositionEncodingRegistry& position_encodings() { return encodings_; }
  const PositionEncodingRegistry& position_encodings() const {
    return encodings_;
  }

  // Paths are relative to `config`.
  void Validate(const Attention& config, const ScoreWidths& widths,
                ConfigProblems& problems) const;

  template <typename T>
  std::unique_ptr<ScoringFunction<T>> Create(const Attention& config,
                                             ParameterScope<T> scope,
                                             const ScoreWidths& widths) const {
    return PluginRegistry::Create<T>(config, scope, widths);
  }

 private:
  NormalizerRegistry normalizers_;
  PositionEncodingRegistry encodings_;
};

#define REGARD_SCORING_FUNCTION(name, formula) \
  REGARD_PLUGIN(ScorerRegistry, name, formula)

}  // namespace regard

#endif  // ATTENTION_SCORER_REGISTRY_H_
