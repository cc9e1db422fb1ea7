#include "attention/attention_parts.h"

#include "attention/attention.pb.h"
#include "attention/layer_state.h"
#include "autodiff/instantiate.h"

namespace regard {

namespace {

ScoreWidths ScorerWidths(const ScorerInfo& info, ScoreWidths widths) {
  if (!info.grouped_heads) widths.key_heads = widths.heads;
  return widths;
}

// Calls create(widths) for one part of a layer. The part declares its slots in
// the scope `part`.
template <typename F>
auto WithSlots(ScoreWidths widths, const char* part, const F& create) {
  if (widths.slots == nullptr) return create(widths);
  const SlotScope slots = widths.slots->Sub(part);
  widths.slots = &slots;
  return create(widths);
}

}  // namespace

template <typename T>
AttentionParts<T>::AttentionParts(const AttentionRegistry& registry,
                                  const Attention& config,
                                  ParameterScope<T> scope,
                                  const ScoreWidths& widths) {
  const ScorerInfo& info = *registry.Find(config);
  const ScoreWidths of_scorer = ScorerWidths(info, widths);
  scorer = WithSlots(of_scorer, "score", [&](const ScoreWidths& of_part) {
    return registry.Create<T>(config, scope, of_part);
  });
  normalizer = WithSlots(widths, "normalizer", [&](const ScoreWidths& of_part) {
    return registry.normalizers.Create<T>(config.normalizer(),
                                          scope.Sub("normalizer"), of_part);
  });
  uses_history = info.uses_history;
  key_copies = of_scorer.key_heads / widths.key_heads;
  if (config.has_position_encoding()) {
    position_encoding =
        WithSlots(widths, "position_encoding", [&](const ScoreWidths& of_part) {
          return registry.position_encodings.Create<T>(
              config.position_encoding(), scope.Sub("position_encoding"),
              of_part);
        });
  }
  const auto create_map = [&](const ScoreMapConfig& map, const char* name,
                              std::unique_ptr<ScoreMap<T>>* created) {
    // A `none` map is not created, because with any map the layer cannot use
    // the blocked kernel.
    if (map.map_case() == ScoreMapConfig::MAP_NOT_SET || map.has_none()) return;
    *created = WithSlots(widths, name, [&](const ScoreWidths& of_part) {
      return registry.score_maps.Create<T>(map, scope.Sub(name), of_part);
    });
  };
  create_map(config.map_before(), "map_before", &map_before);
  create_map(config.map_after(), "map_after", &map_after);
  const auto mixes_keys = [&](const ScoreMapConfig& map) {
    const ScoreMapInfo* const info = registry.score_maps.Find(map);
    return info != nullptr && info->mixes_keys;
  };
  map_before_mixes_keys = mixes_keys(config.map_before());
  map_after_mixes_keys = mixes_keys(config.map_after());
  // A `none` selection is not created, because with any selection the layer
  // reads ranges of keys.
  if (HasSelection(config)) {
    selection = WithSlots(widths, "selection", [&](const ScoreWidths& of_part) {
      return registry.selections.Create<T>(config.selection(), of_part);
    });
  }
  if (config.has_sink() && !config.sink().has_none()) {
    sink.emplace(config.sink(), scope.Sub("sink"), widths.heads);
  }
  if (HasForget(config)) {
    forget = WithSlots(widths, "forget", [&](const ScoreWidths& of_part) {
      return ForgetGate<T>(config.forget(), scope.Sub("forget"), of_part);
    });
  }
}

REGARD_INSTANTIATE_CLASS(AttentionParts);

}  // namespace regard
