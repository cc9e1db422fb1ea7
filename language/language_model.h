// A decoder-only language model with its vocabulary: all that generating needs.
// It is made without a text, so a finished run can be used where its text is
// not.
#ifndef LANGUAGE_LANGUAGE_MODEL_H_
#define LANGUAGE_LANGUAGE_MODEL_H_

#include <cstdint>

#include "attention/scorer_registry.h"
#include "language/language_model.pb.h"
#include "language/text_vocabulary.h"
#include "nn/config_problems.h"
#include "nn/parameters.h"
#include "seq2seq/transformer_decoder.h"

namespace regard {

// Paths are relative to `config`.
void ValidateLanguageModel(const LanguageModelConfig& config,
                           const ScorerRegistry& scorers,
                           ConfigProblems& problems);

// The decoder of a model. Parameters are those of TransformerDecoder in
// `scope`.
template <typename T>
TransformerDecoder<T> MakeLanguageDecoder(const LanguageModelConfig& config,
                                          const ScorerRegistry& scorers,
                                          const TextVocabulary& vocabulary,
                                          const ParameterScope<T>& scope) {
  return TransformerDecoder<T>(config.transformer(), scorers,
                               {.vocabulary = vocabulary.size(),
                                .special_ids = vocabulary.special_ids()},
                               scope);
}

template <typename T>
class LanguageModel {
 public:
  // `config` has passed ValidateLanguageModel(). `seed` is that of the
  // parameters' first values.
  LanguageModel(const LanguageModelConfig& config,
                const ScorerRegistry& scorers, TextVocabulary vocabulary,
                uint64_t seed);

  ParameterStore<T>& parameters() { return parameters_; }
  const ParameterStore<T>& parameters() const { return parameters_; }
  const TextVocabulary& vocabulary() const { return vocabulary_; }
  const TransformerDecoder<T>& decoder() const { return decoder_; }
  // Ids that it reads at once at most.
  int64_t block() const { return block_; }

 private:
  const int64_t block_;
  const TextVocabulary vocabulary_;
  ParameterStore<T> parameters_;
  TransformerDecoder<T> decoder_;
};

}  // namespace regard

#endif  // LANGUAGE_LANGUAGE_MODEL_H_
