// Validation of the configs of sequence-to-sequence models and searches.
#ifndef SEQ2SEQ_SEQ2SEQ_VALIDATION_H_
#define SEQ2SEQ_SEQ2SEQ_VALIDATION_H_

#include <cstdint>

#include "attention/attention_registry.h"
#include "options/config_problems.h"

namespace regard {

class EncoderDecoderConfig;
class SearchConfig;
class TransformerConfig;

// Whether the encoder or the decoder is a Transformer.
bool HasTransformerEncoder(const EncoderDecoderConfig& config);
bool HasTransformerDecoder(const EncoderDecoderConfig& config);
// Returns the config of a Transformer encoder or decoder. If `encoder` is set,
// `transformer` describes only the decoder.
TransformerConfig TransformerOfEncoder(const EncoderDecoderConfig& config);
TransformerConfig TransformerOfDecoder(const EncoderDecoderConfig& config);

// Returns the width of the encoder's outputs.
int64_t MemoryWidth(const EncoderDecoderConfig& config);

// Returns whether the attention that serves as the alignment has a key
// selection.
bool AlignmentSelectsKeys(const EncoderDecoderConfig& config,
                          const AttentionRegistry& scorers);

// Adds problems under paths relative to `config`.
void ValidateEncoderDecoder(const EncoderDecoderConfig& config,
                            const AttentionRegistry& scorers,
                            ConfigProblems& problems);

inline constexpr int kMaxBeam = 64;

// Adds problems under paths relative to `config`.
void ValidateSearch(const SearchConfig& config, ConfigProblems& problems);

}  // namespace regard

#endif  // SEQ2SEQ_SEQ2SEQ_VALIDATION_H_
