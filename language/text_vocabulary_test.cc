#include "language/text_vocabulary.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "language/language_model.pb.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

LanguageModelConfig ConfigOf(LanguageModelConfig::Unit unit,
                             LanguageModelConfig::Examples examples,
                             int min_frequency = 1) {
  LanguageModelConfig config;
  config.set_unit(unit);
  config.set_examples(examples);
  config.set_min_frequency(min_frequency);
  return config;
}

const LanguageModelConfig kCharacters =  // NOLINT
    ConfigOf(LanguageModelConfig::CHARACTERS, LanguageModelConfig::BLOCKS);
const LanguageModelConfig kCharacterLines =  // NOLINT
    ConfigOf(LanguageModelConfig::CHARACTERS, LanguageModelConfig::LINES);
const LanguageModelConfig kWords =  // NOLINT
    ConfigOf(LanguageModelConfig::WORDS, LanguageModelConfig::BLOCKS);
const LanguageModelConfig kWordLines =  // NOLINT
    ConfigOf(LanguageModelConfig::WORDS, LanguageModelConfig::LINES);

std::vector<std::string> TokensOf(const TextVocabulary& vocabulary) {
  std::vector<std::string> tokens;
  for (int32_t id = 0; id < vocabulary.size(); ++id) {
    tokens.push_back(vocabulary.Token(id));
  }
  return tokens;
}

TEST(TextVocabularyTest, CharactersAreInTheOrderOfCodePoints) {
  const TextVocabulary vocabulary =
      TextVocabulary::Of("b\u00e9a\nb\u20acA", kCharacters);
  EXPECT_THAT(TokensOf(vocabulary),
              ElementsAre("\n", "A", "a", "b", "\u00e9", "\u20ac"));
  EXPECT_EQ(vocabulary.special_ids().begin, -1);
  EXPECT_EQ(vocabulary.special_ids().end, -1);
  const EncodedText text = vocabulary.Encode("\u00e9b\n");
  EXPECT_THAT(text.ids, ElementsAre(4, 3, 0));
  EXPECT_THAT(text.lines, IsEmpty());
}

TEST(TextVocabularyTest, LinesStandBetweenReservedIds) {
  const TextVocabulary vocabulary =
      TextVocabulary::Of("ab\n\na\n", kCharacterLines);
  EXPECT_THAT(TokensOf(vocabulary), ElementsAre("<bos>", "<eos>", "a", "b"));
  const EncodedText text = vocabulary.Encode("ab\n\nb");
  EXPECT_THAT(text.ids, ElementsAre(0, 2, 3, 1, 0, 3, 1));
  EXPECT_THAT(text.lines, ElementsAre(0, 4, 7));
  EXPECT_THAT(vocabulary.Encode("").lines, ElementsAre(0));
}

TEST(TextVocabularyTest, WordsAreOrderedByFrequencyAndRareOnesUnknown) {
  EXPECT_THAT(
      TokensOf(TextVocabulary::Of("the  cat\nthe dog\tcat cat", kWords)),
      ElementsAre("<unk>", "cat", "the", "\n", "dog"));
  const TextVocabulary frequent = TextVocabulary::Of(
      "the cat\nthe dog cat",
      ConfigOf(LanguageModelConfig::WORDS, LanguageModelConfig::BLOCKS, 2));
  EXPECT_THAT(TokensOf(frequent), ElementsAre("<unk>", "the", "cat"));
  EXPECT_THAT(frequent.Encode("the dog \n cat <unk>").ids,
              ElementsAre(1, 0, 0, 2, 0));
}

TEST(TextVocabularyTest, NoWordSpellsTheBeginningOrTheEnd) {
  const TextVocabulary vocabulary =
      TextVocabulary::Of("a <eos> <bos>", kWordLines);
  EXPECT_THAT(TokensOf(vocabulary),
              ElementsAre("<unk>", "<bos>", "<eos>", "a"));
  EXPECT_THAT(vocabulary.Encode("a <eos> <bos>").ids,
              ElementsAre(1, 3, 0, 0, 2));
}

TEST(TextVocabularyTest, TextOfAVocabularyGivesItBack) {
  for (const auto& config :
       {kCharacters, kCharacterLines, kWords, kWordLines}) {
    const TextVocabulary vocabulary =
        TextVocabulary::Of("\"a\\b'\t\n\u00e9 \x7f <unk>\r", config);
    const auto read =
        TextVocabulary::FromText(vocabulary.ToText(), "v.txt", config);
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(TokensOf(*read), TokensOf(vocabulary));
  }
}

TEST(TextVocabularyTest, BrokenTextsAreErrorsWithTheirLine) {
  const auto error = [](absl::string_view text,
                        const LanguageModelConfig& config) {
    return std::string(
        TextVocabulary::FromText(text, "v.txt", config).status().message());
  };
  EXPECT_THAT(error("a\nb", kCharacters),
              HasSubstr("v.txt:2: error: the last"));
  EXPECT_THAT(error("a\n\n", kCharacters), HasSubstr("v.txt:2: error: empty"));
  EXPECT_THAT(error("a\n\\q\n", kCharacters), HasSubstr("v.txt:2: error: no"));
  EXPECT_THAT(error("a\na\n", kCharacters), HasSubstr("'a' is here twice"));
  EXPECT_THAT(error("a\nb\n", kCharacterLines), HasSubstr("want '<bos>'"));
  EXPECT_THAT(error("<bos>\n", kCharacterLines), HasSubstr("the file ends"));
}

TEST(TextVocabularyTest, APromptBeginsALineOrStandsAlone) {
  const TextVocabulary lines = TextVocabulary::Of("ab", kCharacterLines);
  EXPECT_THAT(*lines.EncodePrompt("ba"), ElementsAre(0, 3, 2));
  EXPECT_THAT(*lines.EncodePrompt(""), ElementsAre(0));
  const TextVocabulary blocks = TextVocabulary::Of("a\nb", kCharacters);
  EXPECT_THAT(*blocks.EncodePrompt("b\na"), ElementsAre(2, 0, 1));
  EXPECT_THAT(*blocks.EncodePrompt(""), ElementsAre(0));
}

TEST(TextVocabularyTest, AnUnknownPromptIsNamedWithItsPosition) {
  const auto error = [](const TextVocabulary& vocabulary,
                        absl::string_view prompt) {
    const absl::Status status = vocabulary.EncodePrompt(prompt).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status));
    return std::string(status.message());
  };
  const TextVocabulary characters = TextVocabulary::Of("ab", kCharacters);
  EXPECT_EQ(error(characters, "ab\u00e9x"),
            "character 3: the model does not know '\u00e9' (U+00E9)");
  EXPECT_EQ(error(characters, "a\nb"),
            "character 2: the model does not know '\\n' (U+000A)");
  EXPECT_EQ(error(characters, "a\xff"),
            "byte 2: the prompt is not UTF-8 there");
  EXPECT_THAT(error(characters, ""), HasSubstr("knows no newline"));
  EXPECT_EQ(error(TextVocabulary::Of("the cat", kWords), "the  dog"),
            "word 2: the model does not know 'dog'");
}

TEST(TextVocabularyTest, PiecesOfWordsAreSeparatedBySpaces) {
  const TextVocabulary words = TextVocabulary::Of("a b\n", kWords);
  std::string text;
  int32_t before = -1;
  for (const int32_t id : words.Encode("a b\nb a").ids) {
    text += words.Piece(before, id);
    before = id;
  }
  EXPECT_EQ(text, "a b\nb a");
  const TextVocabulary lines = TextVocabulary::Of("a", kWordLines);
  EXPECT_EQ(lines.Piece(-1, 1), "");
  EXPECT_EQ(lines.Piece(1, 3), "a");
  EXPECT_EQ(lines.Piece(3, 3), " a");
  EXPECT_EQ(lines.Piece(3, 2), "");
}

}  // namespace
}  // namespace regard
