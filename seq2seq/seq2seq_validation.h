// What can be wrong with configs of sequence-to-sequence models and searches.
#ifndef SEQ2SEQ_SEQ2SEQ_VALIDATION_H_
#define SEQ2SEQ_SEQ2SEQ_VALIDATION_H_

#include <cstdint>

#include "attention/attention_registry.h"
#include "options/config_problems.h"

namespace regard {

class EncoderDecoderConfig;
class SearchConfig;
class TransformerConfig;

// Which parts of a model are Transformers, and their configs. With `encoder`,
// `transformer` is the decoder alone.
bool HasTransformerEncoder(const EncoderDecoderConfig& config);
bool HasTransformerDecoder(const EncoderDecoderConfig& config);
TransformerConfig TransformerOfEncoder(const EncoderDecoderConfig& config);
TransformerConfig TransformerOfDecoder(const EncoderDecoderConfig& config);

// Width of one output of the encoder.
int64_t MemoryWidth(const EncoderDecoderConfig& config);

// Whether the attention that is the alignment has a key selection.
bool AlignmentSelectsKeys(const EncoderDecoderConfig& config,
                          const AttentionRegistry& scorers);

// Paths are relative to `config`.
void ValidateEncoderDecoder(const EncoderDecoderConfig& config,
                            const AttentionRegistry& scorers,
                            ConfigProblems& problems);

inline constexpr int kMaxBeam = 64;

// Paths are relative to `config`.
void ValidateSearch(const SearchConfig& config, ConfigProblems& problems);

}  // namespace regard

#endif  // SEQ2SEQ_SEQ2SEQ_VALIDATION_H_
