#include "nn/name_suggestion.h"

#include <string>
#include <vector>

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

TEST(SuggestNameTest, NamesTheNearest) {
  EXPECT_EQ(SuggestName("optimzer", {"model", "optimizer", "seed"}),
            "; did you mean 'optimizer'?");
}

TEST(SuggestNameTest, LetterCaseAndAMissingPrefixDoNotCount) {
  EXPECT_EQ(SuggestName("adam", {"SGD", "ADAM"}), "; did you mean 'ADAM'?");
  EXPECT_EQ(SuggestName("additive", {"SCORE_DOT", "SCORE_ADDITIVE"}),
            "; did you mean 'SCORE_ADDITIVE'?");
}

TEST(SuggestNameTest, ListsAFewNamesWhenNoneIsNear) {
  EXPECT_EQ(SuggestName("xyzzy", {"model", "seed"}), "; it can be model, seed");
  EXPECT_EQ(SuggestName("xyzzy", {}), "");
  EXPECT_EQ(SuggestName("xyzzy", std::vector<std::string>(13, "model")), "");
}

TEST(SuggestNameTest, EndlessNamesAreNotCompared) {
  EXPECT_EQ(SuggestName(std::string(100'000, 'x'), {"model"}), "");
}

}  // namespace
}  // namespace regard
