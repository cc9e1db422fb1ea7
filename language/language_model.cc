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
  ValidateTransformer(scorers, transformer, /*memory_width=*/0,
                      Direction::kCausal, problems);
  ValidateHasNoSource("a language model", transformer, problems);
  const PositionEmbeddingConfig& positions = transformer.position_embedding();
  if (positions.kind() == PositionEmbeddingConfig::LEARNED &&
      positions.longest() < config.block()) {
    problems.Add(
        "position_embedding.longest",
        absl::StrCat("must be at least `block` (", config.block(), ")"));
  }
}

void ValidateUnit(const LanguageModelConfig& config, ConfigProblems& problems) {
  if (config.unit() != LanguageModelConfig::WORDS &&
      config.min_frequency() > 1) {
    problems.Note("min_frequency",
                  "applies only to unit: WORDS; remove it, or set unit: WORDS");
  }
  const BytePairsConfig& tokens = config.tokens();
  if (config.unit() != LanguageModelConfig::BYTE_PAIRS) {
    if (config.has_tokens()) {
      problems.Note("tokens", "has no effect without unit: BYTE_PAIRS");
    }
    return;
  }
  if (tokens.folder().empty()) {
    problems.Add("tokens.folder",
                 "must name a folder with tokenizer.json, or with vocab.json "
                 "and merges.txt, when `unit` is BYTE_PAIRS");
  }
  const bool both = !tokens.begin().empty() && !tokens.end().empty();
  if (config.examples() == LanguageModelConfig::LINES && !both) {
    problems.Add("tokens",
                 "`begin` and `end` must not be empty with examples: LINES");
  }
}

}  // namespace

void ValidateLanguageModel(const LanguageModelConfig& config,
                           const AttentionRegistry& scorers,
                           ConfigProblems& problems) {
  problems.CheckOwnRanges(config);
  ValidateUnit(config, problems);
  problems.RequireInRange("evaluation_stride", config.evaluation_stride(), 0,
                          config.block());
  if (config.examples() == LanguageModelConfig::LINES) {
    constexpr char kNote[] = "has no effect without examples: BLOCKS";
    if (config.stride() > 0) problems.Note("stride", kNote);
    if (config.evaluation_stride() > 0) {
      problems.Note("evaluation_stride", kNote);
    }
  }
  if (config.prefix_matching() &&
      config.examples() != LanguageModelConfig::LINES) {
    problems.Note("prefix_matching", "has no effect without examples: LINES");
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
