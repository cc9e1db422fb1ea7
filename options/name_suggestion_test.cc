#include "options/name_suggestion.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

TEST(EditDistanceTest, CountsEdits) {
  EXPECT_EQ(EditDistance("", ""), 0);
  EXPECT_EQ(EditDistance("abc", ""), 3);
  EXPECT_EQ(EditDistance("", "abc"), 3);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3);
  EXPECT_EQ(EditDistance("optimzer", "optimizer"), 1);
}

TEST(EditDistanceTest, NeighboursSwapInOneEdit) {
  EXPECT_EQ(EditDistance("modle", "model"), 1);
  EXPECT_EQ(EditDistance("ab", "ba"), 1);
}

TEST(EditDistanceTest, AWildcardStandsForAnyCharacters) {
  const auto distance = [](const char* pattern, const char* name) {
    return EditDistance(pattern, name, /*wildcards=*/true);
  };
  EXPECT_EQ(distance("*", ""), 0);
  EXPECT_EQ(distance("*", "decoder"), 0);
  EXPECT_EQ(distance("*/weights", "decoder/self/weights"), 0);
  EXPECT_EQ(distance("*/wieghts", "decoder/self/weights"), 1);
  EXPECT_EQ(distance("enc*/weights", "decoder/self/weights"), 2);
  EXPECT_EQ(distance("*a*", "b"), 1);
  EXPECT_EQ(EditDistance("*", "decoder"), 7);
}

TEST(SuggestNameTest, NamesTheNearest) {
  EXPECT_EQ(SuggestName("optimzer", {"model", "optimizer", "seed"}),
            "; did you mean 'optimizer'?");
}

TEST(SuggestNameTest, LetterCaseAndAMissingPrefixDoNotCount) {
  EXPECT_EQ(SuggestName("adam", {"SGD", "ADAM"}), "; did you mean 'ADAM'?");
  EXPECT_EQ(SuggestName("additive", {"SCORE_DOT", "SCORE_ADDITIVE"}),
            "; did you mean 'SCORE_ADDITIVE'?");
}

// About one letter in three may be wrong, so longer names may have more wrong
// letters.
TEST(SuggestNameTest, ALongerNameMayBeFurtherAway) {
  const auto suggests = [](const char* name, const char* candidate) {
    return absl::StrContains(SuggestName(name, {candidate}), "did you mean");
  };
  EXPECT_TRUE(suggests("a", "x"));
  EXPECT_TRUE(suggests("abc", "abx"));
  EXPECT_FALSE(suggests("abc", "axx"));
  EXPECT_TRUE(suggests("abcd", "abxx"));
  EXPECT_FALSE(suggests("abcdef", "abcxxx"));
  EXPECT_TRUE(suggests("abcdefg", "abcdxxx"));
  EXPECT_TRUE(suggests("dot", "SCORE_DOT"));
  EXPECT_EQ(SuggestName("ab", {"ab1", "ab2"}), "; did you mean 'ab1'?");
}

TEST(SuggestNameTest, ListsAFewNamesIfNoneIsSimilar) {
  EXPECT_EQ(SuggestName("xyzzy", {"model", "seed"}), "; it can be model, seed");
  EXPECT_EQ(SuggestName("xyzzy", {}), "");
  EXPECT_EQ(SuggestName("xyzzy", std::vector<std::string>(13, "model")), "");
  EXPECT_NE(SuggestName("xyzzy", std::vector<std::string>(12, "model")), "");
}

TEST(SuggestNameTest, EndlessNamesAreNotCompared) {
  EXPECT_NE(SuggestName(std::string(64, 'x'), {std::string(63, 'x')}), "");
  EXPECT_EQ(SuggestName(std::string(65, 'x'), {std::string(64, 'x')}), "");
  EXPECT_EQ(SuggestName(std::string(100'000, 'x'), {"model"}), "");
}

}  // namespace
}  // namespace regard
