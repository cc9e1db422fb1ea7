#include "data/text/prepared_text.h"

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "data/text/vocabulary.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(PrepareTextTest, DetachesMarksFromWords) {
  EXPECT_EQ(PrepareText("Stop, please!"), "stop , please !");
  EXPECT_EQ(PrepareText("Ready ?"), "ready ?");
  EXPECT_EQ(PrepareText("Wait..."), "wait . . .");
  EXPECT_EQ(PrepareText("...no"), ". . .no");
  EXPECT_EQ(PrepareText(""), "");
}

TEST(PrepareTextTest, LowersLettersOfAnyScript) {
  EXPECT_EQ(PrepareText("\xc3\x89T\xc3\x89"), "\xc3\xa9t\xc3\xa9");
  EXPECT_EQ(PrepareText("\xce\xa9\xd0\x96\xc5\x92"),
            "\xcf\x89\xd0\xb6\xc5\x93");
}

TEST(PrepareTextTest, TurnsNoBreakSpacesIntoSpaces) {
  EXPECT_EQ(PrepareText("Va\xe2\x80\xaf!"), "va !");
  EXPECT_EQ(PrepareText("a\xc2\xa0"
                        "b"),
            "a b");
}

TEST(PrepareTextTest, ComposesAccents) {
  EXPECT_EQ(PrepareText("E\xcc\x81te\xcc\x81"), "\xc3\xa9t\xc3\xa9");
}

TEST(PrepareWordsTest, HasNoEmptyWords) {
  EXPECT_THAT(PrepareWords("  a  b .", {}), ElementsAre("a", "b", "."));
  EXPECT_THAT(PrepareWords(" \t ", {}), IsEmpty());
}

TEST(PrepareWordsTest, UnicodeWhiteSpaceSeparatesWordsFromVersion1On) {
  const std::string text = "A\tb\u2028c\u3000d\u00A0e";
  EXPECT_THAT(PrepareWords(text, {.version = 1}),
              ElementsAre("a", "b", "c", "d", "e"));
  EXPECT_THAT(PrepareWords(text, {.version = 0}),
              ElementsAre("a\tb\u2028c\u3000d", "e"));
}

TEST(PrepareWordsTest, KeepsWhatIsWritten) {
  EXPECT_THAT(PrepareWords("I\u2019m\u200f a\u200db", {}),
              ElementsAre("i\u2019m\u200f", "a\u200db"));
  EXPECT_THAT(
      PrepareWords("I\u2019m, A.", {.words = WordPreparation::kAsWritten}),
      ElementsAre("I\u2019m,", "A."));
}

TEST(PrepareWordsTest, BytesThatAreNotUtf8AreReplacementCharacters) {
  EXPECT_THAT(PrepareWords("a \xff b", {}), ElementsAre("a", "\uFFFD", "b"));
}

Vocabulary VocabularyOf(const std::vector<std::string>& words) {
  TokenCounts counts;
  counts.Add(words);
  return Vocabulary(counts);
}

// Returns the words for a model of generated sentences.
std::vector<std::string> Generated(absl::string_view text,
                                   const std::vector<std::string>& known) {
  const Vocabulary vocabulary = VocabularyOf(known);
  return PrepareWords(text, {.words = WordPreparation::kGenerated},
                      &vocabulary);
}

TEST(GeneratedWordsTest, AreAsTheGeneratorWritesThem) {
  EXPECT_THAT(Generated("They are  watching.\r", {}),
              ElementsAre("they", "are", "watching", "."));
  EXPECT_THAT(Generated("a\u200fb\u2028c\x1b", {}), ElementsAre("ab", "c"));
}

TEST(GeneratedWordsTest, SplitAtElisionsOfTheVocabulary) {
  const std::vector<std::string> known = {"j'", "n'", "aime", "i'm",
                                          "aujourd'hui"};
  EXPECT_THAT(Generated("J\u2019aime", known), ElementsAre("j'", "aime"));
  EXPECT_THAT(Generated("j'n'aime", known), ElementsAre("j'", "n'", "aime"));
  EXPECT_THAT(Generated("aujourd'hui i'm", known),
              ElementsAre("aujourd'hui", "i'm"));
}

TEST(GeneratedWordsTest, StayWholeIfTheFirstPartIsUnknownOrTheWholeWord) {
  EXPECT_THAT(Generated("they're j' 'tis", {"j'"}),
              ElementsAre("they're", "j'", "'tis"));
}

TEST(IsBlankLineTest, MayHaveWhiteSpaceFromVersion1) {
  for (const char* line : {" ", "\t\t", "\u00a0", "\u3000 "}) {
    EXPECT_TRUE(IsBlankLine(line, 1)) << line;
    EXPECT_FALSE(IsBlankLine(line, 0)) << line;
  }
  EXPECT_TRUE(IsBlankLine("", 0));
  EXPECT_FALSE(IsBlankLine("\u200b", 1));
}

TEST(TextCleanupCountsTest, SayWhatWasNormalised) {
  TextCleanupCounts counts = {.carriage_returns = 2, .blank_lines = 1};
  counts.CountUnusualSpaces("a b\u00a0c\td", 1);
  counts.CountUnusualSpaces("a\u00a0c", 0);
  EXPECT_EQ(counts.Note("data.path"),
            "data.path: 2 lines end in a carriage return, which is not part of "
            "the text; 1 blank line is ignored; 2 white-space characters other "
            "than U+0020 separate words");
  EXPECT_EQ(TextCleanupCounts().Note("data.path"), "");
}

}  // namespace
}  // namespace regard
