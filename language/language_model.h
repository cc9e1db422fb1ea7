// A decoder-only language model with its vocabulary: all that generating needs.
// It is made without a text, so a finished run can be used where its text is
// not.
#ifndef LANGUAGE_LANGUAGE_MODEL_H_
#define LANGUAGE_LANGUAGE_MODEL_H_

#include <cstdint>

#include "attention/attention_registry.h"
#include "language/language_model.pb.h"
#include "language/text_vocabulary.h"
#include "nn/parameters.h"
#include "options/config_problems.h"
#include "seq2seq/transformer_decoder.h"

namespace regard {

// Paths are relative to `config`.
void ValidateLanguageModel(const LanguageModelConfig& config,
                           const AttentionRegistry& scorers,
                           ConfigProblems& problems);

// Whether evaluations do; the field has no effect on blocks.
inline bool MeasuresPrefixMatching(const LanguageModelConfig& config) {
  return config.prefix_matching() &&
         config.examples() == LanguageModelConfig::LINES;
}

// Parameters are those of TransformerDecoder.
class LanguageModel {
 public:
  // `config` has passed ValidateLanguageModel(). `seed` is that of the
  // parameters' first values; without `finalize`, they have none.
  LanguageModel(const LanguageModelConfig& config,
                const AttentionRegistry& scorers, TextVocabulary vocabulary,
                uint64_t seed, bool finalize = true);

  ParameterStore<float>& parameters() { return parameters_; }
  const ParameterStore<float>& parameters() const { return parameters_; }
  const TextVocabulary& vocabulary() const { return vocabulary_; }
  const TransformerDecoder<float>& decoder() const { return decoder_; }
  // Ids that it reads at once at most.
  int64_t block() const { return block_; }

 private:
  const int64_t block_;
  const TextVocabulary vocabulary_;
  ParameterStore<float> parameters_;
  TransformerDecoder<float> decoder_;
};

}  // namespace regard

#endif  // LANGUAGE_LANGUAGE_MODEL_H_
