#include "vision/caption_tokens.h"

#include <cstdint>
#include <string>
#include <vector>

#include "attention/transformer/testing/layer_check.h"
#include "data/images/caption_set.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "options/config_problems.h"
#include "vision/captioner.pb.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Words = std::vector<std::string>;

CaptionTokens Of(const std::string& config, const std::string& kept = "") {
  CaptionSplits data;
  data.train.captions = {{.words = {"a", "view", "of", "Cats."}}};
  data.vocabulary = kept;
  return CaptionTokens(Parse<CaptionerConfig>(config), data);
}

std::vector<std::string> ProblemsOf(const CaptionTokens& tokens) {
  ConfigProblems problems;
  tokens.Validate(problems);
  std::vector<std::string> all;
  for (const auto& problem : problems.problems()) {
    all.push_back(problem.path + ": " + problem.message);
  }
  return all;
}

TEST(CaptionTokensTest, WordsComeFromThePromptAndTheData) {
  const CaptionTokens tokens = Of("prompt: 'a picture of'");
  EXPECT_EQ(tokens.ToText(),
            "<unk>\n<pad>\n<bos>\n<eos>\na\nof\npicture\nview\nCats.\n");
  EXPECT_EQ(tokens.ids().count, 9);
  EXPECT_TRUE(tokens.words());
  EXPECT_THAT(tokens.UnknownWordNotes({"cats", "Cats.", "cats"}),
              ElementsAre("the model does not know 'cats'"));
  EXPECT_THAT(tokens.Encode({"a", "zebra"}), ElementsAre(4, 0));
  // Unknown words of the user keep their names.
  EXPECT_THAT(tokens.Names({"a", "zebra"}), ElementsAre("a", "zebra"));
  EXPECT_THAT(tokens.SpelledAsDecoded({"a", "zebra"}),
              ElementsAre("a", "zebra"));
  EXPECT_THAT(tokens.Decode({6, 7, 3, 4}, Words{"zebra"}),
              ElementsAre("zebra", "picture", "view"));
  EXPECT_THAT(ProblemsOf(tokens), ElementsAre());
}

// Decode() must equal the decoding of transformers without special tokens.
TEST(CaptionTokensTest, SubwordsMatchBert) {
  const CaptionTokens tokens = Of(
      "tokens {}", "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\npicture\nof\ncat\n##s\n.\n");
  EXPECT_FALSE(tokens.words());
  EXPECT_EQ(tokens.ids().count, 11);
  EXPECT_EQ(tokens.ids().special.begin, 10);
  EXPECT_EQ(tokens.ids().special.end, 3);
  EXPECT_EQ(tokens.ids().special.pad, 0);
  EXPECT_EQ(tokens.Name(10), "[DEC]");
  EXPECT_THAT(tokens.Encode({"A", "Cats.", "zebra"}),
              ElementsAre(4, 7, 8, 9, 1));
  EXPECT_THAT(tokens.Names({"A", "Cats.", "zebra"}),
              ElementsAre("a", "cat", "##s", ".", "[UNK]"));
  EXPECT_THAT(tokens.UnknownWordNotes({"Cats.", "zebras"}),
              ElementsAre("the model does not know 'zebras'"));
  // "##s" continues the prompt. Special tokens and [DEC] add nothing.
  EXPECT_THAT(tokens.Decode({8, 10, 6, 1, 7, 9, 3}, Words{"A", "Cat"}),
              ElementsAre("a", "cats", "of", "cat."));
  EXPECT_THAT(tokens.SpelledAsDecoded({"A", "Zebra", "."}),
              ElementsAre("a", "zebra."));
}

TEST(CaptionTokensTest, AnIdWithoutATokenHasANumber) {
  const CaptionTokens tokens =
      Of("tokens {} begin: 'a' ids: 30", "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\n");
  EXPECT_EQ(tokens.ids().count, 30);
  EXPECT_EQ(tokens.ids().special.begin, 4);
  EXPECT_EQ(tokens.Name(5), "[5]");
  EXPECT_THAT(tokens.Decode({5, 29}), ElementsAre());
}

TEST(CaptionTokensTest, SubwordsAreWholeWordsWithoutAFile) {
  EXPECT_EQ(Of("tokens {} prompt: 'a picture of'").ToText(),
            "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nof\npicture\nview\n"
            "cats\n.\n");
}

TEST(CaptionTokensTest, ReportsAVocabularyThatDoesNotFit) {
  EXPECT_THAT(ProblemsOf(Of("tokens { vocabulary: '/no/file' }")),
              ElementsAre(HasSubstr("tokens.vocabulary: /no/file")));
  EXPECT_THAT(ProblemsOf(Of("tokens {}", "[UNK]\n[CLS]\n[SEP]\n")),
              ElementsAre("tokens.padding: must be a token of the vocabulary"));
  EXPECT_THAT(
      ProblemsOf(Of("tokens { padding: '[SEP]' }", "[UNK]\n[CLS]\n[SEP]\n")),
      ElementsAre(
          "tokens.padding: must differ from the token that ends sentences"));
}

TEST(CaptionTokensTest, ChecksTheStoredVocabulary) {
  const auto config = Parse<CaptionerConfig>("tokens {}");
  EXPECT_STREQ(CaptionTokens::FileName(config), "vocab.txt");
  EXPECT_EQ(CaptionTokens::Check(config, "a\nb\n", "v").ok(), false);
  EXPECT_EQ(CaptionTokens::Check(config, "[UNK]\n[CLS]\n[SEP]\n", "v").ok(),
            true);
  EXPECT_STREQ(CaptionTokens::FileName({}), "vocabulary.txt");
  EXPECT_EQ(CaptionTokens::Check({}, "[UNK]\n", "v").ok(), false);
  EXPECT_EQ(CaptionTokens::Check({}, Of("").ToText(), "v").ok(), true);
}

}  // namespace
}  // namespace regard
