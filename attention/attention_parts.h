// The parts of attention that a config chooses: score, position encoding,
// normalizer, sink, forget gate, score maps and key selection. AttentionLayer
// uses these parts.
#ifndef ATTENTION_ATTENTION_PARTS_H_
#define ATTENTION_ATTENTION_PARTS_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "attention/attention_registry.h"
#include "attention/forget_gate.h"
#include "attention/key_selection.h"
#include "attention/normalizer.h"
#include "attention/position_encoding.h"
#include "attention/score_map.h"
#include "attention/scoring_function.h"
#include "attention/sink.h"
#include "nn/parameters.h"

namespace regard {

class Attention;

template <typename T>
struct AttentionParts {
  // `config` must have passed AttentionRegistry::Validate(). The parameters of
  // the score are directly in `scope`, and its state slots are in the scope
  // "score". A selection has no parameters, and its slots are in the scope
  // "selection". Each other part has one scope for its parameters and slots:
  // "position_encoding", "normalizer", "sink", "forget", "map_before" or
  // "map_after".
  AttentionParts(const AttentionRegistry& registry, const Attention& config,
                 ParameterScope<T> scope, const ScoreWidths& widths);

  std::unique_ptr<ScoringFunction<T>> scorer;
  std::unique_ptr<PositionEncoding<T>> position_encoding;  // may be null
  std::unique_ptr<Normalizer<T>> normalizer;
  std::optional<AttentionSink<T>> sink;
  std::optional<ForgetGate<T>> forget;
  std::unique_ptr<ScoreMap<T>> map_before;     // may be null
  std::unique_ptr<ScoreMap<T>> map_after;      // may be null
  std::unique_ptr<KeySelection<T>> selection;  // may be null
  // Whether the map reads other keys of a row to compute an element.
  bool map_before_mixes_keys = false;
  bool map_after_mixes_keys = false;
  bool uses_history;
  // Number of copies of each key head that the score receives. 1 if the score
  // has kGroupedHeads.
  int64_t key_copies;
};

}  // namespace regard

#endif  // ATTENTION_ATTENTION_PARTS_H_
