// Validation of a Transformer's config, and the complete config of each of its
// layers.
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

// Prepares a merge of `part` into `whole`. Applies to the sink, the forget gate
// and the latents. If `part` has `none`, clears the message in `whole`. If
// `part` has the message without `none`, clears `none` in `whole`.
void ClearReplacedFields(const MultiHead& part, MultiHead* whole);

// Like MergeInto(), for a TransformerConfig or TransformerLayerConfig. In
// addition, `none` in `part` replaces a feed-forward network, sink, forget gate
// or latents in `whole`.
template <typename Config>
void MergeTransformerInto(const Config& part, Config* whole) {
  if (part.feed_forward().has_none()) whole->clear_feed_forward();
  if (part.has_attention()) {
    ClearReplacedFields(part.attention(), whole->mutable_attention());
  }
  if (part.has_cross_attention()) {
    ClearReplacedFields(part.cross_attention(),
                        whole->mutable_cross_attention());
  }
  MergeInto(part, whole);
}

// The complete config of layer `index`: the pattern is merged, and defaults
// that depend on other fields are filled in.
TransformerLayerConfig LayerConfig(const AttentionRegistry& scorers,
                                   const TransformerConfig& config,
                                   int64_t index);

// Clears drop_path in the config and in its pattern. Clears the pattern if
// nothing else is left in it.
void ClearDropPath(TransformerConfig* config);

// Whether in some layer the score of `attention` reads positions.
bool ReadsPositions(const AttentionRegistry& scorers,
                    const TransformerConfig& config);

// Whether each position sees all positions, or only itself and earlier ones.
enum class Direction { kBoth, kCausal };

// Adds the problems of `config` to `problems`, under paths relative to
// `config`. `memory_width` is the width of the memory that a decoder attends
// to, or 0 without cross-attention. A problem of a layer that comes from a
// field outside of the pattern is reported for that field. Fields that every
// pattern replaces are not checked.
void ValidateTransformer(const AttentionRegistry& scorers,
                         const TransformerConfig& config, int64_t memory_width,
                         Direction direction, ConfigProblems& problems);

// Adds `note` to each field `cross_attention` that the config sets.
void NoteCrossAttention(const TransformerConfig& config, absl::string_view note,
                        ConfigProblems& problems);

// Adds problems and notes for fields that require a source, for a model without
// a source. The messages begin with `model`, such as "a language model".
void ValidateHasNoSource(absl::string_view model,
                         const TransformerConfig& config,
                         ConfigProblems& problems);

}  // namespace regard

#endif  // ATTENTION_TRANSFORMER_VALIDATION_H_
