#include "data/text/prepared_text.h"

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

TEST(SplitTokensTest, HasNoEmptyTokens) {
  EXPECT_THAT(SplitTokens("  a  b ."), ElementsAre("a", "b", "."));
  EXPECT_THAT(SplitTokens(" "), IsEmpty());
}

}  // namespace
}  // namespace regard
