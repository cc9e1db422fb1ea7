#include "files/utf8.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::IsEmpty;
using ::testing::Optional;

TEST(FindInvalidUtf8Test, AcceptsTextOfEveryLength) {
  EXPECT_EQ(FindInvalidUtf8(""), std::nullopt);
  EXPECT_EQ(FindInvalidUtf8("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"),
            std::nullopt);
}

TEST(FindInvalidUtf8Test, FindsTheFirstBrokenByte) {
  EXPECT_THAT(FindInvalidUtf8("ab\xff"), Optional(Eq(2)));
  EXPECT_THAT(FindInvalidUtf8("\xc3"), Optional(Eq(0)));          // truncated
  EXPECT_THAT(FindInvalidUtf8("a\xc0\x80"), Optional(Eq(1)));     // overlong
  EXPECT_THAT(FindInvalidUtf8("\xed\xa0\x80"), Optional(Eq(0)));  // surrogate
}

TEST(CharactersTest, CutsTextIntoCodePoints) {
  const std::vector<Character> characters = Characters("a\xc3\xa9\xff");
  ASSERT_EQ(characters.size(), 3u);
  EXPECT_EQ(characters[0].bytes, "a");
  EXPECT_EQ(characters[1].code_point, U'\u00e9');
  EXPECT_EQ(characters[1].bytes, "\xc3\xa9");
  EXPECT_EQ(characters[2].code_point, U'\ufffd');
}

TEST(AppendUtf8Test, IsTheInverseOfCharacters) {
  std::string text;
  for (const char32_t c : {U'a', U'\u00e9', U'\u20ac', U'\U0001f600'}) {
    AppendUtf8(c, &text);
  }
  EXPECT_EQ(text, "a\u00e9\u20ac\U0001f600");
}

TEST(SplitOnWhitespaceTest, SplitsAtWideAndNarrowSpaces) {
  EXPECT_THAT(SplitOnWhitespace("  a\tb\xe2\x80\xaf"
                                "c\xc2\xa0\xe3\x80\x80"
                                "d "),
              ElementsAre("a", "b", "c", "d"));
  EXPECT_THAT(SplitOnWhitespace(""), IsEmpty());
  EXPECT_THAT(SplitOnWhitespace(" \n"), IsEmpty());
}

TEST(LowerCaseTest, MatchesPython) {
  EXPECT_EQ(LowerCase(""), "");
  EXPECT_EQ(LowerCase("STRA\u00dfE \u00c9T\u00c9"),
            "stra\u00dfe \u00e9t\u00e9");
  EXPECT_EQ(LowerCase("\u0130"), "i\u0307");
  // A sigma at the end of a word becomes a final sigma.
  EXPECT_EQ(LowerCase("\u039f\u0394\u039f\u03a3 \u03a3."),
            "\u03bf\u03b4\u03bf\u03c2 \u03c3.");
  EXPECT_EQ(LowerCase("\u0391\u03a3'\u0391"), "\u03b1\u03c3'\u03b1");
}

// Returns the text that each byte adds, then the text that Finish() adds.
std::vector<std::string> Streamed(absl::string_view bytes) {
  Utf8Stream stream;
  std::vector<std::string> pieces;
  for (size_t i = 0; i < bytes.size(); ++i) {
    stream.Append(bytes.substr(i, 1), &pieces.emplace_back());
  }
  stream.Finish(&pieces.emplace_back());
  return pieces;
}

TEST(Utf8Test, AStreamWaitsForWholeCharacters) {
  EXPECT_THAT(Streamed("a\u00e9b"), ElementsAre("a", "", "\u00e9", "b", ""));
  EXPECT_THAT(Streamed("\U0001F600"),
              ElementsAre("", "", "", "\U0001F600", ""));
  EXPECT_THAT(Streamed(""), ElementsAre(""));
  // Append() also takes several bytes per call.
  Utf8Stream stream;
  std::string text;
  stream.Append("\u20ac\u20ac\xe2\x82", &text);
  EXPECT_EQ(text, "\u20ac\u20ac");
  stream.Append("\xac.", &text);
  stream.Finish(&text);
  EXPECT_EQ(text, "\u20ac\u20ac\u20ac.");
}

// The result must be the same as with Python's b"..".decode("utf-8",
// "replace").
TEST(Utf8Test, AStreamReplacesInvalidCharacters) {
  const std::string kBad = "\uFFFD";
  const std::pair<absl::string_view, std::string> cases[] = {
      {"\xff\xfe", kBad + kBad},
      {"\xe2\x82", kBad},
      {"\xe2\x82x", kBad + "x"},
      {"\xe2\x28\xa1", kBad + "(" + kBad},
      {"\xf0\x9f\x98\xe9", kBad + kBad},
      {"\xc0\x80", kBad + kBad},
      {"\xe0\x9f\x80", kBad + kBad + kBad},
      {"\xed\xa0\x80", kBad + kBad + kBad},
      {"\xf0\x8f\x80\x80", kBad + kBad + kBad + kBad},
      {"\xf4\x90\x80\x80", kBad + kBad + kBad + kBad},
      {"\xf4\x8f\xbf\xbf", "\U0010FFFF"},
      {"\x80 \xbf", kBad + " " + kBad}};
  for (const auto& [bytes, wanted] : cases) {
    EXPECT_EQ(absl::StrJoin(Streamed(bytes), ""), wanted);
  }
}

}  // namespace
}  // namespace regard
