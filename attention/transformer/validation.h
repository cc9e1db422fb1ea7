// What a Transformer's config must satisfy, and the parts of its layers.
#ifndef ATTENTION_TRANSFORMER_VALIDATION_H_
#define ATTENTION_TRANSFORMER_VALIDATION_H_

#include <cstdint>

#include "attention/attention_registry.h"
#include "attention/transformer/transformer.pb.h"
#include "nn/config_problems.h"

namespace regard {

// The parts of layer `index`, all present: the pattern merged, and defaults
// that depend on other fields filled in.
TransformerLayerConfig LayerConfig(const TransformerConfig& config,
                                   int64_t index);

// `memory_width` is that of what a decoder attends to; 0: there is no
// cross-attention. Paths are relative to `config`.
void ValidateTransformer(const AttentionRegistry& scorers,
                         const TransformerConfig& config, int64_t memory_width,
                         ConfigProblems& problems);

}  // namespace regard

#endif  // ATTENTION_TRANSFORMER_VALIDATION_H_
