// A decoder-only language model with its vocabulary: everything that generation
// needs. It does not depend on a text, so a finished run can be used without
// its text.
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

// Adds problems under paths relative to `config`.
void ValidateLanguageModel(const LanguageModelConfig& config,
                           const AttentionRegistry& scorers,
                           ConfigProblems& problems);

// Returns whether evaluations measure prefix_matching. The field has no effect
// if examples are blocks.
inline bool MeasuresPrefixMatching(const LanguageModelConfig& config) {
  return config.prefix_matching() &&
         config.examples() == LanguageModelConfig::LINES;
}

// Has the parameters of TransformerDecoder.
class LanguageModel {
 public:
  // `config` must have passed ValidateLanguageModel(). `seed` determines the
  // initial values of the parameters. Without `finalize`, the parameters stay
  // uninitialized.
  LanguageModel(const LanguageModelConfig& config,
                const AttentionRegistry& scorers, TextVocabulary vocabulary,
                uint64_t seed, bool finalize = true);

  ParameterStore<float>& parameters() { return parameters_; }
  const ParameterStore<float>& parameters() const { return parameters_; }
  const TextVocabulary& vocabulary() const { return vocabulary_; }
  const TransformerDecoder<float>& decoder() const { return decoder_; }
  // The maximum number of ids that the model reads at once.
  int64_t block() const { return block_; }

 private:
  const int64_t block_;
  const TextVocabulary vocabulary_;
  ParameterStore<float> parameters_;
  TransformerDecoder<float> decoder_;
};

}  // namespace regard

#endif  // LANGUAGE_LANGUAGE_MODEL_H_
