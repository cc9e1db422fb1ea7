#include "data/text/byte_level.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> Words(absl::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const size_t bytes = FirstWordBytes(text);
    words.emplace_back(text.substr(0, bytes));
    text.remove_prefix(bytes);
  }
  return words;
}

TEST(ByteLevelTest, CutsTextsIntoWords) {
  EXPECT_THAT(
      Words("the cat's 12 mice, don't!"),
      ElementsAre("the", " cat", "'s", " 12", " mice", ",", " don", "'t", "!"));
  EXPECT_THAT(Words("a1\u00bd\u0661b"), ElementsAre("a", "1\u00bd\u0661", "b"));
  EXPECT_THAT(
      Words("'re've'll'd'm'lx'S"),
      ElementsAre("'re", "'ve", "'ll", "'d", "'m", "'", "lx", "'", "S"));
  EXPECT_THAT(Words("!'s ''s"), ElementsAre("!'", "s", " ''", "s"));
  EXPECT_THAT(Words("'"), ElementsAre("'"));
}

TEST(ByteLevelTest, TheLastSpaceBelongsToTheNextWord) {
  EXPECT_THAT(Words("a  b"), ElementsAre("a", " ", " b"));
  EXPECT_THAT(Words("a   \nb"), ElementsAre("a", "   ", "\n", "b"));
  EXPECT_THAT(Words("a \n"), ElementsAre("a", " \n"));
  EXPECT_THAT(Words(" "), ElementsAre(" "));
  EXPECT_THAT(Words("\tb"), ElementsAre("\t", "b"));
  // Only U+0020 is joined to the next word.
  EXPECT_THAT(Words("a\u00a0b\u2003\u3000c"),
              ElementsAre("a", "\u00a0", "b", "\u2003", "\u3000", "c"));
}

TEST(ByteLevelTest, InvalidUtf8IsPunctuation) {
  EXPECT_THAT(Words("a\xff\xc3!b"), ElementsAre("a", "\xff\xc3!", "b"));
  EXPECT_THAT(Words(" \xe4\xb8"), ElementsAre(" \xe4\xb8"));
  EXPECT_THAT(Words("\xed\xa0\x80"), ElementsAre("\xed\xa0\x80"));
}

// utf8proc of Debian 12 does not contain these letters, but Regard must
// recognize them as letters.
TEST(ByteLevelTest, SupportsUnicode16) {
  EXPECT_THAT(Words("a\U0002ebf0"), ElementsAre("a\U0002ebf0"));
  EXPECT_THAT(Words("a\U00011bc0"), ElementsAre("a\U00011bc0"));
  EXPECT_THAT(Words("1\U000116d0"), ElementsAre("1\U000116d0"));
}

TEST(ByteLevelTest, SpellsBytes) {
  EXPECT_EQ(SpellBytes(" a\n"), "\u0120a\u010a");
  EXPECT_EQ(SpellBytes({"\0\x7f\xa0\xad\xff", 5}),
            "\u0100\u0121\u0142\u0143\u00ff");
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all.push_back(static_cast<char>(byte));
  EXPECT_EQ(UnspellBytes(SpellBytes(all)), all);
  EXPECT_EQ(UnspellBytes(" "), std::nullopt);
  EXPECT_EQ(UnspellBytes("\u00ad"), std::nullopt);
  EXPECT_EQ(UnspellBytes("\u0144"), std::nullopt);
  EXPECT_EQ(UnspellBytes("\u4e2d"), std::nullopt);
  EXPECT_EQ(UnspellBytes("\xff"), std::nullopt);
  EXPECT_EQ(UnspellBytes(""), "");
}

}  // namespace
}  // namespace regard
