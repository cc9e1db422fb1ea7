// Registry of everything that an attention config can choose: scoring
// functions, normalizers, position encodings, score maps, key selections, head
// outputs and mixers. Each plug-in is identified by the type of its options
// message.
#ifndef ATTENTION_ATTENTION_REGISTRY_H_
#define ATTENTION_ATTENTION_REGISTRY_H_

#include "attention/head_output.h"
#include "attention/key_selection.h"
#include "attention/normalizer.h"
#include "attention/position_encoding.h"
#include "attention/score_map.h"
#include "attention/scoring_function.h"
#include "attention/state_mixer.h"
#include "nn/parameters.h"
#include "options/config_problems.h"
#include "options/option_registry.h"

namespace google::protobuf {
class Message;
}  // namespace google::protobuf

namespace regard {

class Attention;

template <typename T>
using ScorerFactory =
    PluginFactory<ScoringFunction<T>, ParameterScope<T>, const ScoreWidths&>;

// Return whether the config has a forget gate or a key selection. The option
// `none` counts as absent.
bool HasForget(const Attention& config);
bool HasSelection(const Attention& config);

void RequireEqualWidths(const ScoreWidths& widths, ConfigProblems& problems);

// Whether a score defines PositionAware(options) in place of kPositionAware.
template <typename Scorer>
inline constexpr bool kAsksOptions =
    requires(const typename Scorer::Options& options) {
  Scorer::PositionAware(options);
};  // NOLINT(readability/braces)

// A registered score. The description is its formula, such as "q . k".
struct ScorerInfo : TemplatePluginInfo<ScorerFactory, ScoreWidths> {
  // Whether a score with these options depends on the positions of query or
  // key.
  bool (*position_aware)(const google::protobuf::Message& options);
  bool uses_history;
  bool grouped_heads;
  bool prepares_other_widths;

  template <typename Scorer>
  void Describe() {
    position_aware = [](const google::protobuf::Message& options) {
      if constexpr (kAsksOptions<Scorer>) {
        return Scorer::PositionAware(
            static_cast<const typename Scorer::Options&>(options));
      } else {
        return Scorer::kPositionAware;
      }
    };
    uses_history = Scorer::kUsesHistory;
    grouped_heads = Scorer::kGroupedHeads;
    prepares_other_widths = Scorer::kPreparesOtherWidths;
    if constexpr (Scorer::kEqualWidths) {
      validate = [](const google::protobuf::Message& options,
                    const ScoreWidths& widths, ConfigProblems& problems) {
        RequireEqualWidths(widths, problems);
        Scorer::Validate(static_cast<const typename Scorer::Options&>(options),
                         widths, problems);
      };
    }
  }
};

class AttentionRegistry : public PluginRegistry<Attention, ScorerInfo> {
 public:
  AttentionRegistry();

  // Adds the problems of `config` to `problems`, under paths relative to
  // `config`.
  void Validate(const Attention& config, const ScoreWidths& widths,
                ConfigProblems& problems) const;

  // Registries that contain the built-in plug-ins.
  NormalizerRegistry normalizers;
  PositionEncodingRegistry position_encodings;
  ScoreMapRegistry score_maps;
  KeySelectionRegistry selections;
  // Registries of the plug-ins that a MultiHead config chooses.
  HeadOutputRegistry head_outputs;
  MixerRegistry mixers;

 private:
  void ValidateKeySelection(const Attention& config, const ScoreWidths& widths,
                            ConfigProblems& problems) const;
};

#define REGARD_SCORING_FUNCTION(name, formula) \
  REGARD_PLUGIN(AttentionRegistry, name, formula)

}  // namespace regard

#endif  // ATTENTION_ATTENTION_REGISTRY_H_
