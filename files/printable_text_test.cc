#include "files/printable_text.h"

#include "gtest/gtest.h"

namespace regard {
namespace {

TEST(PrintableTextTest, DropsTerminalControlCodes) {
  EXPECT_EQ(PrintableText("a\x1b[31mb\x07\x7f"), "a[31mb");
  EXPECT_EQ(PrintableText("a\nb\tc\rd"), "a b cd");
  // U+009B, the one-character form of ESC [.
  EXPECT_EQ(PrintableText("a\xc2\x9b"
                          "2J"),
            "a2J");
}

TEST(PrintableTextTest, DropsMarksThatTurnTheDirectionOfWriting) {
  EXPECT_EQ(PrintableText("a\u202Eb\u2066c\u2069"), "abc");
  EXPECT_EQ(PrintableText("\u200e\u200f\u061c\u202a\u202e\u2066\u2069"), "");
  EXPECT_EQ(PrintableText("\u2028\u2029"), "");
  const char kept[] = "\u200d\u2010\u061b\u061d\u2027\u202f\u2065\u206a";
  EXPECT_EQ(PrintableText(kept), kept);
}

TEST(PrintableTextTest, ReplacesBytesThatAreNotUtf8) {
  EXPECT_EQ(PrintableText("a\xff"
                          "b\xc3"),
            "a\uFFFDb\uFFFD");
}

TEST(PrintableTextTest, KeepsOtherText) {
  EXPECT_EQ(PrintableText("l'été, 東京 🙂"), "l'été, 東京 🙂");
  EXPECT_EQ(PrintableText(""), "");
}

TEST(EscapeHtmlTest, EscapesMarkupAndQuotes) {
  EXPECT_EQ(EscapeHtml("<a href=\"x\" b='y'>&amp;"),
            "&lt;a href=&quot;x&quot; b=&#39;y&#39;&gt;&amp;amp;");
}

TEST(EscapeHtmlTest, KeepsLinesAndDropsControls) {
  EXPECT_EQ(EscapeHtml("a\n\tb\x01"), "a\n\tb");
}

TEST(DisplayWidthTest, CountsWideAndCombiningCharacters) {
  EXPECT_EQ(DisplayWidth("chat"), 4);
  EXPECT_EQ(DisplayWidth("été"), 3);
  EXPECT_EQ(DisplayWidth("e\u0301"), 1);
  EXPECT_EQ(DisplayWidth("東京"), 4);
  EXPECT_EQ(DisplayWidth(""), 0);
}

TEST(CutToWidthTest, CutsWithAnEllipsis) {
  EXPECT_EQ(CutToWidth("regardent", 9, "…"), "regardent");
  EXPECT_EQ(CutToWidth("regardent", 4, "…"), "reg…");
  EXPECT_EQ(CutToWidth("regardent", 1, "~"), "~");
  // A wide character that does not fit is omitted.
  EXPECT_EQ(CutToWidth("東京都", 4, "…"), "東…");
}

}  // namespace
}  // namespace regard
