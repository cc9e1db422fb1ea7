// The scoring functions that a program knows, by the message of their options,
// and what else an attention config chooses.
#ifndef ATTENTION_SCORER_REGISTRY_H_
#define ATTENTION_SCORER_REGISTRY_H_

#include <memory>

#include "absl/strings/string_view.h"
#include "attention/attention.pb.h"
#include "attention/normalizer.h"
#include "attention/position_encoding.h"
#include "attention/scoring_function.h"
#include "nn/config_problems.h"
#include "nn/option_registry.h"
#include "nn/parameters.h"

namespace regard {

// The description is the score's formula: "q . k".
struct ScorerInfo : OptionInfo<ScoreWidths> {
  template <typename T>
  using Factory =
      OptionFactory<ScoringFunction<T>, ParameterScope<T>, const ScoreWidths&>;

  bool position_aware;
  bool uses_history;
  bool grouped_heads;
  Factory<float> create_float;
  Factory<double> create_double;
};

class ScorerRegistry : public OptionRegistry<ScorerInfo> {
 public:
  ScorerRegistry();

  // Adds Scorer<T>, whose Scorer<T>::Options is its options message.
  template <template <typename> class Scorer>
  void Add(absl::string_view formula) {
    Insert({DescribePlugin<Scorer<float>, ScoreWidths>(formula),
            Scorer<float>::kPositionAware, Scorer<float>::kUsesHistory,
            Scorer<float>::kGroupedHeads,
            &CreatePlugin<Scorer<float>, ScoringFunction<float>,
                          ParameterScope<float>, const ScoreWidths&>,
            &CreatePlugin<Scorer<double>, ScoringFunction<double>,
                          ParameterScope<double>, const ScoreWidths&>});
  }

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

  // The scoring function of a valid config; parameters go under `scope`.
  template <typename T>
  std::unique_ptr<ScoringFunction<T>> Create(const Attention& config,
                                             ParameterScope<T> scope,
                                             const ScoreWidths& widths) const {
    return CreateOf<T>(config, scope, widths);
  }

 private:
  NormalizerRegistry normalizers_;
  PositionEncodingRegistry encodings_;
};

// Defines `void RegisterNAME(ScorerRegistry&)` for the scoring function NAME,
// in whatever namespace NAME is: with C linkage, declarations in all namespaces
// name the same function. So two scores of one program have different names.
#define REGARD_SCORING_FUNCTION(name, formula)                        \
  extern "C" void Register##name(::regard::ScorerRegistry& scorers) { \
    scorers.Add<name>(formula);                                       \
  }

}  // namespace regard

#endif  // ATTENTION_SCORER_REGISTRY_H_
