#include "options/config_text.h"

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ConfigTextTest, CountsLinesAndCharactersFromOne) {
  const ConfigTextWithOrigin text =
      ConfigTextWithOrigin::File("a", "x\n\té: 1\n");
  EXPECT_EQ(text.Line(0), 1);
  EXPECT_EQ(text.Line(1), 1);  // the end of line 1
  EXPECT_EQ(text.Line(2), 2);
  EXPECT_EQ(text.Column(2), 1);
  EXPECT_EQ(text.Column(3), 2);  // a tab is one character
  EXPECT_EQ(text.Column(5), 3);  // two bytes are one character
  EXPECT_EQ(text.OriginWithLine(5), "a:2");
}

TEST(ConfigTextTest, ProblemAtTheEndOfTheText) {
  EXPECT_EQ(
      ConfigTextWithOrigin::File("a", "x: 1").Diagnostic({{4, 1}, "more"}),
      "a:1:5: error: more\n"
      "  x: 1\n"
      "      ^");
  EXPECT_EQ(ConfigTextWithOrigin::File("a", "").Diagnostic({{9, 9}, "more"}),
            "a:1:1: error: more\n"
            "  \n"
            "  ^");
}

TEST(ConfigTextTest, MarksStayOnTheLine) {
  EXPECT_EQ(
      ConfigTextWithOrigin::File("a", "ab\ncd\n").Diagnostic({{1, 4}, "no"}),
      "a:1:2: error: no\n"
      "  ab\n"
      "   ^");
}

TEST(ConfigTextTest, OverridesHaveNoLine) {
  const ConfigTextWithOrigin text = ConfigTextWithOrigin::Override("seed=x");
  EXPECT_EQ(text.OriginWithLine(5), "--set");
  EXPECT_EQ(text.Diagnostic({{5, 1}, "no"}),
            "--set: error: no\n"
            "  seed=x\n"
            "       ^");
}

// Returns the text at the position of bytes [begin, begin + length) of the
// string in the field `s`.
std::string Marked(const ConfigTextWithOrigin& text, size_t begin,
                   size_t length) {
  const size_t name = text.text().find('s');
  const TextRange range = text.RangeInStringValue({name, 1}, {begin, length});
  return text.text().substr(range.begin, range.length);
}

TEST(ConfigTextTest, PartsOfStringsAreFoundWhereTheyAreWritten) {
  const auto file = [](const char* text) {
    return ConfigTextWithOrigin::File("a", text);
  };
  EXPECT_EQ(Marked(file("s: \"abcd\" t: 'xyz'"), 1, 2), "bc");
  EXPECT_EQ(Marked(file("s : 'abcd'"), 0, 4), "abcd");
  // \x reads two digits, and an octal escape reads up to three. \u00e9 becomes
  // two bytes.
  const ConfigTextWithOrigin escapes =
      file(R"(s: "\"\n\x616\u00e9\1412\777z")");
  EXPECT_EQ(Marked(escapes, 1, 1), "\\n");
  EXPECT_EQ(Marked(escapes, 2, 1), "\\x61");
  EXPECT_EQ(Marked(escapes, 3, 1), "6");
  EXPECT_EQ(Marked(escapes, 4, 2), "\\u00e9");
  EXPECT_EQ(Marked(escapes, 6, 4), "\\1412\\777z");
  EXPECT_EQ(Marked(file("s: 'ab'  # 'x'\n   \"cd\""), 3, 1), "d");
  EXPECT_EQ(Marked(file("s: 'ab'\n 'cd'"), 1, 2), "b'\n 'c");
  EXPECT_EQ(Marked(file("s: 'ab' 'cd'"), 0, 2), "ab");
  // For bytes at or after the end of a string, the position must be the closing
  // quote.
  EXPECT_EQ(file("s: 'ab' t: 1").RangeInStringValue({0, 1}, {2, 1}).begin, 6u);
  EXPECT_EQ(file("s: 'ab' t: 1").RangeInStringValue({0, 1}, {9, 9}).begin, 6u);
  EXPECT_EQ(file("s: '' t: 1").RangeInStringValue({0, 1}, {0, 1}).begin, 4u);
  EXPECT_EQ(Marked(file("s: 1"), 0, 1), "s");
}

TEST(ConfigTextTest, PartsOfStringsInArguments) {
  EXPECT_EQ(Marked(ConfigTextWithOrigin::Override("s=a'b\\n"), 1, 2), "'b");
  EXPECT_EQ(Marked(ConfigTextWithOrigin::Override("s=\"a\\tb\""), 1, 1), "\\t");
  EXPECT_EQ(Marked(ConfigTextWithOrigin::Override("m={s: 'abc'}"), 1, 1), "b");
}

TEST(PrintableTest, ReplacesControlAndInvisibleCharacters) {
  EXPECT_EQ(Printable("é\tok", 9), "é ok");
  EXPECT_EQ(Printable("\x1b[2J\x7f", 9), "?[2J?");
  EXPECT_EQ(Printable("a\u202eb\u200bc\u0085", 9), "a?b?c?");
  EXPECT_EQ(Printable("\xff\xc3 b", 9), "?? b");
}

TEST(PrintableTest, CutsAtCharacters) {
  EXPECT_EQ(Printable("éééé", 4), "éééé");
  EXPECT_EQ(Printable("éééé", 3), "ééé...");
}

// Returns each token as a letter for its kind, followed by its text.
std::vector<std::string> Tokens(absl::string_view text) {
  std::vector<TextProblem> problems;
  std::vector<std::string> shown;
  for (const Token& token : Tokenize(text, 0, &problems)) {
    shown.push_back(
        "nifs.!$"[static_cast<int>(token.kind)] +
        std::string(text.substr(token.range.begin, token.range.length)));
  }
  return shown;
}

std::vector<TextProblem> Problems(absl::string_view text) {
  std::vector<TextProblem> problems;
  Tokenize(text, 0, &problems);
  return problems;
}

TEST(TokenizeTest, DistinguishesKinds) {
  EXPECT_THAT(Tokens("a_1: -3 {'x' [\"\\\"\"]} # c\n;"),
              ElementsAre("na_1", ".:", ".-", "i3", ".{", "s'x'", ".[",
                          "s\"\\\"\"", ".]", ".}", ".;", "$"));
}

TEST(TokenizeTest, Numbers) {
  EXPECT_THAT(Tokens("0 010 0x1F 1. .5 1e5 1E-5 1.5e+3f 2f"),
              ElementsAre("i0", "i010", "i0x1F", "f1.", "f.5", "f1e5", "f1E-5",
                          "f1.5e+3f", "f2f", "$"));
  EXPECT_THAT(
      Tokens("1.2.3 1e 0x 12ab 0xg 1e+"),
      ElementsAre("!1.2.3", "!1e", "!0x", "!12ab", "!0xg", "!1e+", "$"));
}

TEST(TokenizeTest, EmptyTextHasOnlyTheEndToken) {
  EXPECT_THAT(Tokens(""), ElementsAre("$"));
  EXPECT_THAT(Tokens("# only"), ElementsAre("$"));
}

TEST(TokenizeTest, StringsEndOnTheirLine) {
  EXPECT_THAT(Tokens("'a\nb"), ElementsAre("!'a", "nb", "$"));
  EXPECT_THAT(Tokens("'a\\"), ElementsAre("!'a\\", "$"));
  EXPECT_THAT(Tokens("'a\\\nb"), ElementsAre("!'a\\", "nb", "$"));
}

TEST(TokenizeTest, Escapes) {
  EXPECT_THAT(Problems(R"('\a\b\f\n\r\t\v\\\?\'\"\012\x1F\u00e9\U0010FFFF')"),
              IsEmpty());
  for (const char* bad : {R"('\q')", R"('\8')", R"('\xg')", R"('\X41')",
                          R"('\u12')", R"('\U00110000')", R"('\U1')"}) {
    const std::vector<TextProblem> problems = Problems(bad);
    ASSERT_EQ(problems.size(), 1u) << bad;
    EXPECT_EQ(problems[0].range.begin, 1u) << bad;
  }
}

TEST(TokenizeTest, CharactersOutsideAsciiAreTakenWhole) {
  EXPECT_THAT(Tokens("a\u00e9b"), ElementsAre("na", "!\u00e9", "nb", "$"));
}

TEST(TokenizeTest, BeginsAtTheGivenOffset) {
  std::vector<TextProblem> problems;
  const std::vector<Token> tokens = Tokenize("seed=3", 5, &problems);
  ASSERT_EQ(tokens.size(), 2u);
  EXPECT_EQ(tokens[0].range.begin, 5u);
}

}  // namespace
}  // namespace regard
