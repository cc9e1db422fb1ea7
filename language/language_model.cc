#include "language/language_model.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "attention/transformer/transformer.pb.h"
#include "attention/transformer/validation.h"

namespace regard {

namespace {

void ValidateTransformerPart(const LanguageModelConfig& config,
                             const AttentionRegistry& scorers,
                             ConfigProblems& problems) {
  const ConfigProblems::Scope scope(problems, "transformer");
  const TransformerConfig& transformer = config.transformer();
  ValidateTransformer(scorers, transformer, /*memory_width=*/0, problems);
  if (transformer.has_cross_attention()) {
    problems.Add("cross_attention",
                 "a language model has no memory to attend to");
  }
  if (transformer.tied_embeddings() ==
      TransformerConfig::SOURCE_TARGET_OUTPUT) {
    problems.Add("tied_embeddings",
                 "a language model has no source: use TARGET_OUTPUT");
  }
  const PositionEmbeddingConfig& positions = transformer.position_embedding();
  if (positions.kind() == PositionEmbeddingConfig::LEARNED &&
      positions.longest() < config.block()) {
    problems.Add("position_embedding.longest",
                 absl::StrCat("must be at least the block, ", config.block()));
  }
}

}  // namespace

void ValidateLanguageModel(const LanguageModelConfig& config,
                           const AttentionRegistry& scorers,
                           ConfigProblems& problems) {
  const bool words = config.unit() == LanguageModelConfig::WORDS;
  problems.CheckRanges(config);
  if (!words && config.min_frequency() > 1) {
    problems.Add("min_frequency", "needs unit: WORDS; no character is unknown");
  }
  problems.RequireInRange("evaluation_stride", config.evaluation_stride(), 0,
                          config.block());
  if (config.examples() == LanguageModelConfig::LINES) {
    if (config.stride() > 0) problems.Add("stride", "needs examples: BLOCKS");
    if (config.evaluation_stride() > 0) {
      problems.Add("evaluation_stride", "needs examples: BLOCKS");
    }
  }
  if (config.prefix_matching() &&
      config.examples() != LanguageModelConfig::LINES) {
    problems.Add("prefix_matching", "needs examples: LINES");
  }
  ValidateTransformerPart(config, scorers, problems);
}

LanguageModel::LanguageModel(const LanguageModelConfig& config,
                             const AttentionRegistry& scorers,
                             TextVocabulary vocabulary, uint64_t seed,
                             bool finalize)
    : block_(config.block()),
      vocabulary_(std::move(vocabulary)),
      decoder_(config.transformer(), scorers,
               {.vocabulary = vocabulary_.size(),
                .special_ids = vocabulary_.special_ids()},
               parameters_.Root()) {
  if (finalize) parameters_.Finalize(seed);
}

}  // namespace regard
