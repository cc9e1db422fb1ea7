// What a Transformer's config must satisfy, and the parts of its layers.
#ifndef ATTENTION_TRANSFORMER_VALIDATION_H_
#define ATTENTION_TRANSFORMER_VALIDATION_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "attention/attention_registry.h"
#include "options/config_fields.h"
#include "options/config_problems.h"

namespace regard {

class MultiHead;
class TransformerConfig;
class TransformerLayerConfig;

// Makes way for the part's sink, forgetting gate and latents: `none` of one
// clears its other fields below, and other fields clear a `none` below.
void ClearReplaced(const MultiHead& part, MultiHead* whole);

// LayOver() of a TransformerConfig or TransformerLayerConfig: `none` of a
// feed-forward network, or of a part of attention, replaces what is below.
template <typename Config>
void LayOverTransformer(const Config& part, Config* whole) {
  if (part.feed_forward().has_none()) whole->clear_feed_forward();
  if (part.has_attention()) {
    ClearReplaced(part.attention(), whole->mutable_attention());
  }
  if (part.has_cross_attention()) {
    ClearReplaced(part.cross_attention(), whole->mutable_cross_attention());
  }
  LayOver(part, whole);
}

// The parts of layer `index`, all present: the pattern merged, and defaults
// that depend on other fields filled in.
TransformerLayerConfig LayerConfig(const AttentionRegistry& scorers,
                                   const TransformerConfig& config,
                                   int64_t index);

// Clears drop_path, also in the pattern, which goes if nothing else is in it.
void ClearDropPath(TransformerConfig* config);

// Whether the score of some layer's `attention` reads positions.
bool ReadsPositions(const AttentionRegistry& scorers,
                    const TransformerConfig& config);

// Whether all positions see each other, or only themselves and earlier ones.
enum class Direction { kBoth, kCausal };

// `memory_width` is that of what a decoder attends to; 0: there is no
// cross-attention. Paths are relative to `config`: what is wrong in layers of
// the pattern because of the fields below it is a problem of these. Fields that
// each pattern replaces are not checked.
void ValidateTransformer(const AttentionRegistry& scorers,
                         const TransformerConfig& config, int64_t memory_width,
                         Direction direction, ConfigProblems& problems);

// Adds `note` to each cross-attention that the config has.
void NoteCrossAttention(const TransformerConfig& config, absl::string_view note,
                        ConfigProblems& problems);

// Adds problems and notes of fields that need a source beside the Transformer.
// `model` begins the messages: "a language model".
void ValidateHasNoSource(absl::string_view model,
                         const TransformerConfig& config,
                         ConfigProblems& problems);

}  // namespace regard

#endif  // ATTENTION_TRANSFORMER_VALIDATION_H_
