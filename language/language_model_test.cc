#include "language/language_model.h"

#include <algorithm>
#include <string>
#include <vector>

#include "attention/attention_registry.h"
#include "attention/scoring/built_in_scores.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "language/language_model.pb.h"
#include "language/text_vocabulary.h"
#include "nn/parameters.h"
#include "options/config_problems.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

LanguageModelConfig Parse(const std::string& text) {
  LanguageModelConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config));
  return config;
}

// Returns the problems as "path: message".
std::vector<std::string> ProblemsOf(const std::string& text) {
  AttentionRegistry scorers;
  RegisterBuiltInScores(scorers);
  ConfigProblems problems;
  ValidateLanguageModel(Parse(text), scorers, problems);
  std::vector<std::string> found;
  for (const ConfigProblems::Problem& problem : problems.problems()) {
    found.push_back(problem.path + ": " + problem.message);
  }
  for (const std::string& note : problems.notes()) {
    found.push_back("note: " + note);
  }
  return found;
}

TEST(ValidateLanguageModelTest, AcceptsValidConfigs) {
  EXPECT_THAT(ProblemsOf(""), IsEmpty());
  EXPECT_THAT(ProblemsOf("unit: BYTE_PAIRS tokens { folder: 'x' end: '' }"),
              IsEmpty());
  EXPECT_THAT(ProblemsOf("unit: WORDS min_frequency: 3 stride: 1 "
                         "evaluation_stride: 64 block: 64 "
                         "transformer { position_embedding { kind: LEARNED "
                         "longest: 64 } tied_embeddings: TARGET_OUTPUT }"),
              IsEmpty());
}

TEST(ValidateLanguageModelTest, NamesInvalidFields) {
  EXPECT_THAT(ProblemsOf("min_frequency: 2"),
              ElementsAre("note: min_frequency: applies only to unit: WORDS; "
                          "remove it, or set unit: WORDS"));
  EXPECT_THAT(
      ProblemsOf("tokens { folder: 'x' }"),
      ElementsAre("note: tokens: has no effect without unit: BYTE_PAIRS"));
  EXPECT_THAT(ProblemsOf("unit: BYTE_PAIRS"),
              ElementsAre(StartsWith("tokens.folder: must name a folder")));
  EXPECT_THAT(ProblemsOf("unit: BYTE_PAIRS examples: LINES tokens { folder: "
                         "'x' end: '' }"),
              ElementsAre(StartsWith("tokens: `begin` and `end` must not")));
  EXPECT_THAT(ProblemsOf("examples: LINES stride: 4 evaluation_stride: 2"),
              ElementsAre("note: stride: has no effect without examples: "
                          "BLOCKS",
                          "note: evaluation_stride: has no effect without "
                          "examples: BLOCKS"));
  EXPECT_THAT(ProblemsOf("block: 8 evaluation_stride: 9").size(), 1);
  EXPECT_THAT(ProblemsOf("block: 8 transformer { position_embedding { kind: "
                         "LEARNED longest: 7 } }"),
              ElementsAre("transformer.position_embedding.longest: must be at "
                          "least `block` (8)"));
  EXPECT_THAT(ProblemsOf("transformer { cross_attention {} }"),
              ElementsAre("note: transformer.cross_attention: has no effect: "
                          "a language model has no memory to attend to"));
  EXPECT_THAT(
      ProblemsOf("transformer { tied_embeddings: SOURCE_TARGET_OUTPUT }"),
      ElementsAre("transformer.tied_embeddings: a language model has no "
                  "source: use TARGET_OUTPUT"));
  EXPECT_THAT(
      ProblemsOf("transformer { width: 10 attention { heads: 3 } }").size(), 1);
}

// Returns a vocabulary of `size` characters.
TextVocabulary VocabularyOfSize(int size, const LanguageModelConfig& config) {
  std::string text;
  for (int i = 0; i < size; ++i) {
    const int code = 0x10000 + i;
    text.push_back(static_cast<char>(0xF0 | (code >> 18)));
    text.push_back(static_cast<char>(0x80 | ((code >> 12) & 0x3F)));
    text.push_back(static_cast<char>(0x80 | ((code >> 6) & 0x3F)));
    text.push_back(static_cast<char>(0x80 | (code & 0x3F)));
  }
  return TextVocabulary::Of(text, config);
}

int64_t CountParameters(const std::string& text, int vocabulary) {
  const LanguageModelConfig config = Parse(text);
  AttentionRegistry scorers;
  RegisterBuiltInScores(scorers);
  return LanguageModel(config, scorers, VocabularyOfSize(vocabulary, config),
                       /*seed=*/0, /*finalize=*/false)
      .parameters()
      .num_elements();
}

TEST(LanguageModelTest, HasThePublishedNumberOfParameters) {
  // GPT-2 small has 12 layers of 7,087,872 parameters each, embeddings of
  // positions and ids, and a norm.
  EXPECT_EQ(CountParameters(
                "transformer { width: 768 layers: 12 attention { heads: 12 } "
                "position_embedding { kind: LEARNED longest: 1024 } "
                "tied_embeddings: TARGET_OUTPUT }",
                50257),
            124439808);
  // nanoGPT's CPU example on Tiny Shakespeare has these sizes.
  EXPECT_EQ(CountParameters("transformer { width: 128 layers: 4 "
                            "attention { heads: 4 bias: false } "
                            "feed_forward { bias: false } norm { bias: false } "
                            "position_embedding { kind: LEARNED longest: 64 } "
                            "tied_embeddings: TARGET_OUTPUT }",
                            65),
            804096);
}

}  // namespace
}  // namespace regard
