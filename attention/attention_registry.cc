#include "attention/attention_registry.h"

#include "absl/strings/str_cat.h"
#include "attention/attention.pb.h"
#include "attention/head_outputs/built_in_head_outputs.h"
#include "attention/mixers/built_in_mixers.h"
#include "attention/normalizers/built_in_normalizers.h"
#include "attention/position_encodings/built_in_position_encodings.h"
#include "attention/score_maps/built_in_score_maps.h"
#include "attention/selections/built_in_selections.h"

namespace regard {

bool HasForget(const Attention& config) {
  return config.has_forget() && !config.forget().has_none();
}

bool HasSelection(const Attention& config) {
  return config.has_selection() && !config.selection().has_none();
}

void RequireEqualWidths(const ScoreWidths& widths, ConfigProblems& problems) {
  if (widths.query == widths.key) return;
  problems.Add("", absl::StrCat("this score requires a query and a key of the "
                                "same width; the query has ",
                                widths.query, ", the key ", widths.key));
}

AttentionRegistry::AttentionRegistry()
    : PluginRegistry("score", "additive { width: 32 }") {
  RegisterBuiltInNormalizers(normalizers);
  RegisterBuiltInPositionEncodings(position_encodings);
  RegisterBuiltInScoreMaps(score_maps);
  RegisterBuiltInSelections(selections);
  RegisterBuiltInHeadOutputs(head_outputs);
  RegisterBuiltInMixers(mixers);
}

void AttentionRegistry::Validate(const Attention& config,
                                 const ScoreWidths& widths,
                                 ConfigProblems& problems) const {
  problems.CheckOwnRanges(config);
  ValidateChoice(config, problems, widths);
  {
    const ConfigProblems::Scope scope(problems, "normalizer");
    normalizers.ValidateChoice(config.normalizer(), problems, widths);
  }
  if (config.has_position_encoding()) {
    const ConfigProblems::Scope scope(problems, "position_encoding");
    position_encodings.ValidateChoice(config.position_encoding(), problems,
                                      widths);
  }
  const auto validate_map = [&](const char* path, const ScoreMapConfig& map) {
    const ConfigProblems::Scope scope(problems, path);
    score_maps.ValidateChoice(map, problems, widths);
  };
  if (config.has_map_before()) validate_map("map_before", config.map_before());
  if (config.has_map_after()) validate_map("map_after", config.map_after());
  const ScoreMapInfo* const after = score_maps.Find(config.map_after());
  if (after != nullptr && after->only_scores) {
    problems.Add("map_after",
                 absl::StrCat(after->name,
                              " maps scores, and not weights: use map_before"));
  }
  if (config.has_selection()) ValidateKeySelection(config, widths, problems);
  problems.CheckRanges(config.forget(), "forget");
  if (config.forget().has_none() && config.forget().bias() != 0) {
    problems.Note("forget.none",
                  "removes the forget gate: the other field of forget has "
                  "no effect");
  }
  if (HasForget(config) && widths.query_input == 0) {
    problems.Add(
        "forget",
        "requires an attention that has the input of its layer: causal "
        "self-attention of a Transformer; remove `forget`");
  }
  problems.CheckRanges(config.sink(), "sink");
  const bool has_sink = config.has_sink() && !config.sink().has_none();
  if (config.sink().has_none() &&
      (config.sink().logit() != 0 || !config.sink().learned())) {
    problems.Note("sink.none",
                  "removes the sink: the other fields of sink have no effect");
  }
  const NormalizerInfo* const normalizer =
      normalizers.Find(config.normalizer());
  if (has_sink && normalizer != nullptr && normalizer->independent_weights) {
    problems.Add("sink",
                 absl::StrCat("requires a normalizer whose weights depend on "
                              "each other, such as softmax. The weights of ",
                              normalizer->name,
                              " do not: remove `sink` or `normalizer`"));
  }
}

void AttentionRegistry::ValidateKeySelection(const Attention& config,
                                             const ScoreWidths& widths,
                                             ConfigProblems& problems) const {
  const ConfigProblems::Scope scope(problems, "selection");
  selections.ValidateChoice(config.selection(), problems, widths);
  const KeySelectionInfo* const info = selections.Find(config.selection());
  const ScorerInfo* const score = Find(config);
  if (info == nullptr || score == nullptr || !info->compares_keys) return;
  if (score->prepares_other_widths) {
    problems.Add("",
                 absl::StrCat(info->name, " multiplies queries by keys, but ",
                              score->name,
                              " projects keys to another width; use a score "
                              "such as scaled_dot, or another selection"));
  } else if (widths.query != widths.key) {
    problems.Add("", absl::StrCat(info->name,
                                  " requires a query and a key of the same "
                                  "width; the query has ",
                                  widths.query, ", the key ", widths.key));
  }
}

}  // namespace regard
