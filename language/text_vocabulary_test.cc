#include "language/text_vocabulary.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "data/text/testing/byte_pairs_text.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "language/language_model.pb.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::regard::testing::IsOk;
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

std::vector<std::string> VocabularyTokens(const TextVocabulary& vocabulary) {
  std::vector<std::string> tokens;
  for (int32_t id = 0; id < vocabulary.size(); ++id) {
    tokens.push_back(vocabulary.Token(id));
  }
  return tokens;
}

TEST(TextVocabularyTest, CharactersAreInTheOrderOfCodePoints) {
  const TextVocabulary vocabulary =
      TextVocabulary::Of("b\u00e9a\nb\u20acA", kCharacters);
  EXPECT_THAT(VocabularyTokens(vocabulary),
              ElementsAre("\n", "A", "a", "b", "\u00e9", "\u20ac"));
  EXPECT_EQ(vocabulary.special_ids().begin, -1);
  EXPECT_EQ(vocabulary.special_ids().end, -1);
  const EncodedText text = vocabulary.Encode("\u00e9b\n");
  EXPECT_THAT(text.ids, ElementsAre(4, 3, 0));
  EXPECT_THAT(text.lines, IsEmpty());
}

TEST(TextVocabularyTest, LinesAreBetweenReservedIds) {
  const TextVocabulary vocabulary =
      TextVocabulary::Of("ab\n\na\n", kCharacterLines);
  EXPECT_THAT(VocabularyTokens(vocabulary),
              ElementsAre("<bos>", "<eos>", "a", "b"));
  const EncodedText text = vocabulary.Encode("ab\n\nb");
  EXPECT_THAT(text.ids, ElementsAre(0, 2, 3, 1, 0, 3, 1));
  EXPECT_THAT(text.lines, ElementsAre(0, 4, 7));
  EXPECT_THAT(vocabulary.Encode("").lines, ElementsAre(0));
}

TEST(TextVocabularyTest, WordsAreOrderedByFrequencyAndRareOnesUnknown) {
  EXPECT_THAT(VocabularyTokens(
                  TextVocabulary::Of("the  cat\nthe dog\tcat cat", kWords)),
              ElementsAre("<unk>", "cat", "the", "\n", "dog"));
  const TextVocabulary frequent = TextVocabulary::Of(
      "the cat\nthe dog cat",
      ConfigOf(LanguageModelConfig::WORDS, LanguageModelConfig::BLOCKS, 2));
  EXPECT_THAT(VocabularyTokens(frequent), ElementsAre("<unk>", "the", "cat"));
  EXPECT_THAT(frequent.Encode("the dog \n cat <unk>").ids,
              ElementsAre(1, 0, 0, 2, 0));
}

TEST(TextVocabularyTest, NoWordSpellsTheBeginningOrTheEnd) {
  const TextVocabulary vocabulary =
      TextVocabulary::Of("a <eos> <bos>", kWordLines);
  EXPECT_THAT(VocabularyTokens(vocabulary),
              ElementsAre("<unk>", "<bos>", "<eos>", "a"));
  EXPECT_THAT(vocabulary.Encode("a <eos> <bos>").ids,
              ElementsAre(1, 3, 0, 0, 2));
}

TEST(TextVocabularyTest, AVocabularyCanBeReadFromItsText) {
  for (const auto& config :
       {kCharacters, kCharacterLines, kWords, kWordLines}) {
    const TextVocabulary vocabulary =
        TextVocabulary::Of("\"a\\b'\t\n\u00e9 \x7f <unk>\r", config);
    const auto read =
        TextVocabulary::Parse(vocabulary.ToText(), "v.txt", config);
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(VocabularyTokens(*read), VocabularyTokens(vocabulary));
  }
}

TEST(TextVocabularyTest, BrokenTextsAreErrorsWithTheirLine) {
  const auto error = [](absl::string_view text,
                        const LanguageModelConfig& config) {
    return std::string(
        TextVocabulary::Parse(text, "v.txt", config).status().message());
  };
  EXPECT_THAT(error("a\nb", kCharacters),
              HasSubstr("v.txt:2: error: the last"));
  EXPECT_THAT(error("a\n\n", kCharacters),
              HasSubstr("v.txt:2: error: the line is empty"));
  EXPECT_THAT(error("a\n\\q\n", kCharacters),
              HasSubstr("v.txt:2: error: the token"));
  EXPECT_THAT(error("a\na\n", kCharacters),
              HasSubstr("'a' must occur only once"));
  EXPECT_THAT(error("a\nb\n", kCharacterLines),
              HasSubstr("expected token '<bos>'"));
  EXPECT_THAT(error("<bos>\n", kCharacterLines), HasSubstr("ends before"));
}

TEST(TextVocabularyTest, APromptBeginsALineOrABlock) {
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
            "byte 2: the prompt is not valid UTF-8");
  EXPECT_THAT(error(characters, ""), HasSubstr("has no newline"));
  EXPECT_EQ(error(TextVocabulary::Of("the cat", kWords), "the  dog"),
            "word 2: the model does not know 'dog'");
}

TEST(TextVocabularyTest, AnUnknownCharacterIsNamedWithItsPlace) {
  const TextVocabulary dna = TextVocabulary::Of("acgt", kCharacters);
  EXPECT_THAT(dna.CheckKnownCharacters("tt", "d"), IsOk());
  EXPECT_EQ(dna.CheckKnownCharacters("tt\ng", "d").message(),
            "d:1:3: error: the model does not know '\\n' (U+000A)");
  EXPECT_EQ(TextVocabulary::Of("acgt\n", kCharacters)
                .CheckKnownCharacters("\n\nac\ng\u00e9\nxx", "d")
                .message(),
            "d:4:2: error: the model does not know '\u00e9' (U+00E9)");
  // The newline between lines is not in the vocabulary, but must be accepted.
  const TextVocabulary lines = TextVocabulary::Of("acgt", kCharacterLines);
  EXPECT_THAT(lines.CheckKnownCharacters("t\n\ng", "d"), IsOk());
  EXPECT_EQ(lines.CheckKnownCharacters("t\n\nb", "d").message(),
            "d:3:1: error: the model does not know 'b' (U+0062)");
}

TEST(TextVocabularyTest, SubwordsAreSeparatedBySpaces) {
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

// The id of a byte is its value. The id of "the" is 257, and the id of the end
// token is 260.
std::string Tokenizer() {
  return BytePairsText(
      {{"t", "h"}, {"th", "e"}, {" ", "the"}, {"\xc3", "\xa9"}});
}
constexpr int32_t kThe = 257;
constexpr int32_t kSpaceThe = 258;
constexpr int32_t kEAcute = 259;
constexpr int32_t kEnd = 260;

LanguageModelConfig BytePairsOf(LanguageModelConfig::Examples examples) {
  return ConfigOf(LanguageModelConfig::BYTE_PAIRS, examples);
}

TextVocabulary BytePairVocabulary(const LanguageModelConfig& config) {
  return TextVocabulary::Parse(Tokenizer(), "tokenizer.json", config).value();
}

TEST(TextVocabularyTest, SubwordsCoverLineEnds) {
  const TextVocabulary vocabulary =
      BytePairVocabulary(BytePairsOf(LanguageModelConfig::BLOCKS));
  EXPECT_EQ(vocabulary.size(), kEnd + 1);
  EXPECT_EQ(vocabulary.unit_name(), "subwords");
  const EncodedText text = vocabulary.Encode("the the\n\nth\u00e9\u00ea");
  EXPECT_THAT(text.ids, ElementsAre(kThe, kSpaceThe, '\n', '\n', 256, kEAcute,
                                    0xc3, 0xaa));
  EXPECT_THAT(text.lines, IsEmpty());
  EXPECT_EQ(vocabulary.CountCharacters(text.ids), 13);
  // Only the text "<|endoftext|>" becomes the end token.
  EXPECT_THAT(vocabulary.Encode("<|endoftext|>").ids, ElementsAre(kEnd));
  EXPECT_EQ(vocabulary.special_ids().begin, -1);
  EXPECT_EQ(vocabulary.special_ids().end, kEnd);
  EXPECT_THAT(*vocabulary.EncodePrompt("the"), ElementsAre(kThe));
  EXPECT_THAT(*vocabulary.EncodePrompt(""), ElementsAre(kEnd));
  EXPECT_THAT(vocabulary.CheckKnownCharacters("\u4e2d", "d"), IsOk());
  EXPECT_EQ(vocabulary.Token(kSpaceThe), " the");
  EXPECT_EQ(vocabulary.Token(0xc3), "\uFFFD");
}

TEST(TextVocabularyTest, LinesOfSubwordsAreSeparatedByTheEndToken) {
  const TextVocabulary vocabulary =
      BytePairVocabulary(BytePairsOf(LanguageModelConfig::LINES));
  const EncodedText text = vocabulary.Encode("the\n\nt");
  EXPECT_THAT(text.ids, ElementsAre(kEnd, kThe, kEnd, kEnd, 't', kEnd));
  EXPECT_THAT(text.lines, ElementsAre(0, 3, 6));
  EXPECT_THAT(*vocabulary.EncodePrompt("t"), ElementsAre(kEnd, 't'));
  EXPECT_EQ(vocabulary.CountCharacters({kThe, kEnd}), 4);
  EXPECT_EQ(vocabulary.OneLine(text.ids), "thet");
}

TEST(TextVocabularyTest, TokensOfTheConfigBeginAndEnd) {
  LanguageModelConfig config = BytePairsOf(LanguageModelConfig::BLOCKS);
  config.mutable_tokens()->set_begin("the");
  config.mutable_tokens()->set_end("no such");
  // Runs of earlier versions may name an unknown token, which LoadTokenizer()
  // now rejects.
  EXPECT_EQ(BytePairVocabulary(config).special_ids().begin, kThe);
  EXPECT_EQ(BytePairVocabulary(config).special_ids().end, -1);
  config.set_examples(LanguageModelConfig::LINES);
  EXPECT_THAT(std::string(TextVocabulary::Parse(Tokenizer(), "t.json", config)
                              .status()
                              .message()),
              HasSubstr("t.json: error: 'no such' must be a token"));
  config.mutable_tokens()->set_begin("");
  config.mutable_tokens()->set_end("");
  config.set_examples(LanguageModelConfig::BLOCKS);
  const TextVocabulary neither = BytePairVocabulary(config);
  EXPECT_EQ(neither.special_ids().begin, -1);
  EXPECT_EQ(neither.special_ids().end, -1);
  EXPECT_THAT(std::string(neither.EncodePrompt("").status().message()),
              HasSubstr("the model has no token to begin after"));
}

TEST(TextVocabularyTest, ATokenizerCanBeReadFromItsText) {
  const LanguageModelConfig config = BytePairsOf(LanguageModelConfig::BLOCKS);
  const TextVocabulary vocabulary = BytePairVocabulary(config);
  const auto again =
      TextVocabulary::Parse(vocabulary.ToText(), "t.json", config);
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(VocabularyTokens(*again), VocabularyTokens(vocabulary));
  EXPECT_THAT(
      std::string(
          TextVocabulary::Parse("{", "t.json", config).status().message()),
      HasSubstr("t.json:1:2: error: not JSON"));
}

TEST(IncrementalTextDecoderTest, WaitsForWholeCharacters) {
  const TextVocabulary vocabulary =
      BytePairVocabulary(BytePairsOf(LanguageModelConfig::BLOCKS));
  IncrementalTextDecoder stream(vocabulary);
  std::vector<std::string> pieces;
  for (const int32_t id : {kSpaceThe, kEAcute, 0xf0, 0x9f, 0x98, 0x80, kEnd,
                           0xe2, 0x82, int32_t{'x'}, 0xe2}) {
    pieces.push_back(stream.Append(id));
  }
  pieces.push_back(stream.Finish());
  EXPECT_THAT(pieces, ElementsAre(" the", "\u00e9", "", "", "", "\U0001F600",
                                  "", "", "", "\uFFFDx", "", "\uFFFD"));
  EXPECT_EQ(stream.Finish(), "");
  EXPECT_EQ(vocabulary.OneLine({0xe2, '\n', kThe}), "\uFFFD\u21b5the");
}

TEST(IncrementalTextDecoderTest, ContinuesAfterAWord) {
  const TextVocabulary words = TextVocabulary::Of("a b", kWords);
  const std::vector<int32_t> ids = words.Encode("a b").ids;
  EXPECT_EQ(IncrementalTextDecoder(words).Append(ids[1]), "b");
  EXPECT_EQ(IncrementalTextDecoder(words, ids[0]).Append(ids[1]), " b");
}

// Returns the texts that appear after each character of `text` and at the end.
// Sets `stopped` to whether the stream stopped.
std::vector<std::string> Streamed(const std::string& text,
                                  const std::vector<std::string>& stops,
                                  bool* stopped) {
  LanguageModelConfig characters;
  const TextVocabulary vocabulary = TextVocabulary::Of(text, characters);
  IncrementalTextDecoder stream(vocabulary, -1, stops);
  std::vector<std::string> pieces;
  for (const int32_t id : vocabulary.Encode(text).ids) {
    pieces.push_back(stream.Append(id));
  }
  pieces.push_back(stream.Finish());
  *stopped = stream.stopped();
  return pieces;
}

TEST(IncrementalTextDecoderTest, StopsBeforeAStopString) {
  bool stopped = false;
  EXPECT_THAT(Streamed("xabcabd", {"abd"}, &stopped),
              ElementsAre("x", "", "", "abc", "", "", "", ""));
  EXPECT_TRUE(stopped);
  // The withheld bytes must appear at the end if they are not a stop string.
  EXPECT_THAT(Streamed("abcab", {"abd"}, &stopped),
              ElementsAre("", "", "abc", "", "", "ab"));
  EXPECT_FALSE(stopped);
  // The stop string begins at the second byte, although the first byte looked
  // like its beginning.
  EXPECT_THAT(Streamed("aaab", {"aab"}, &stopped),
              ElementsAre("", "", "a", "", ""));
  EXPECT_TRUE(stopped);
  EXPECT_THAT(Streamed("xyz", {"x"}, &stopped), ElementsAre("", "", "", ""));
  EXPECT_TRUE(stopped);
}

TEST(IncrementalTextDecoderTest, StopsAtTheFirstCompleteStopString) {
  bool stopped = false;
  EXPECT_THAT(Streamed("abcd", {"abcd", "bc"}, &stopped),
              ElementsAre("", "", "a", "", ""));
  // If several stop strings end at the same byte, the longest one must match.
  EXPECT_THAT(Streamed("abcd", {"c", "abc", "bc"}, &stopped),
              ElementsAre("", "", "", "", ""));
  EXPECT_TRUE(stopped);
}

// A stop string may begin or end inside the token " the", or span the two byte
// tokens of "é".
TEST(IncrementalTextDecoderTest, StopsAcrossAndInsideTokens) {
  const TextVocabulary vocabulary =
      BytePairVocabulary(BytePairsOf(LanguageModelConfig::BLOCKS));
  const auto pieces = [&](const std::vector<std::string>& stops,
                          const std::vector<int32_t>& ids) {
    IncrementalTextDecoder stream(vocabulary, -1, stops);
    std::vector<std::string> made;
    for (const int32_t id : ids) made.push_back(stream.Append(id));
    made.push_back(stream.Finish());
    return made;
  };
  EXPECT_THAT(pieces({"h"}, {'x', kSpaceThe, 'y'}),
              ElementsAre("x", " t", "", ""));
  EXPECT_THAT(pieces({"e\u00e9"}, {kSpaceThe, 0xc3, 0xa9}),
              ElementsAre(" th", "", "", ""));
  // U+00E8 and U+00E9 begin with the same byte.
  EXPECT_THAT(pieces({"e\u00e9"}, {kSpaceThe, 0xc3, 0xa8}),
              ElementsAre(" th", "", "e\u00e8", ""));
  EXPECT_THAT(pieces({"\u00e9"}, {kEAcute, 'x'}), ElementsAre("", "", ""));
}

}  // namespace
}  // namespace regard
