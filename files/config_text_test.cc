#include "files/config_text.h"

#include <string>

#include "gtest/gtest.h"

namespace regard {
namespace {

TEST(ConfigTextTest, CountsLinesAndCharactersFromOne) {
  const ConfigText text = ConfigText::File("a", "x\n\té: 1\n");
  EXPECT_EQ(text.Line(0), 1);
  EXPECT_EQ(text.Line(1), 1);  // the end of line 1
  EXPECT_EQ(text.Line(2), 2);
  EXPECT_EQ(text.Column(2), 1);
  EXPECT_EQ(text.Column(3), 2);  // a tab is one
  EXPECT_EQ(text.Column(5), 3);  // two bytes are one
  EXPECT_EQ(text.Origin(5), "a:2");
}

TEST(ConfigTextTest, ProblemAtTheEndOfTheText) {
  EXPECT_EQ(ConfigText::File("a", "x: 1").Diagnostic({{4, 1}, "more"}),
            "a:1:5: error: more\n"
            "  x: 1\n"
            "      ^");
  EXPECT_EQ(ConfigText::File("a", "").Diagnostic({{9, 9}, "more"}),
            "a:1:1: error: more\n"
            "  \n"
            "  ^");
}

TEST(ConfigTextTest, MarksStayOnTheLine) {
  EXPECT_EQ(ConfigText::File("a", "ab\ncd\n").Diagnostic({{1, 4}, "no"}),
            "a:1:2: error: no\n"
            "  ab\n"
            "   ^");
}

TEST(ConfigTextTest, OverridesHaveNoLine) {
  const ConfigText text = ConfigText::Override("seed=x");
  EXPECT_EQ(text.Origin(5), "--set");
  EXPECT_EQ(text.Diagnostic({{5, 1}, "no"}),
            "--set: error: no\n"
            "  seed=x\n"
            "       ^");
}

TEST(PrintableTest, ReplacesWhatATerminalMightObeyOrHide) {
  EXPECT_EQ(Printable("é\tok", 9), "é ok");
  EXPECT_EQ(Printable("\x1b[2J\x7f", 9), "?[2J?");
  EXPECT_EQ(Printable("a\u202eb\u200bc\u0085", 9), "a?b?c?");
  EXPECT_EQ(Printable("\xff\xc3 b", 9), "?? b");
}

TEST(PrintableTest, CutsAtCharacters) {
  EXPECT_EQ(Printable("éééé", 4), "éééé");
  EXPECT_EQ(Printable("éééé", 3), "ééé...");
}

}  // namespace
}  // namespace regard
