#include "seq2seq/metrics/ngrams.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(NgramsTest, CountsRunsOfWords) {
  const UnitSequence words = UnitSequence::Words({"a", "b", "a", "b"});
  EXPECT_THAT(CountNgrams(words, 1), ElementsAre(Pair("a", 2), Pair("b", 2)));
  EXPECT_THAT(CountNgrams(words, 2),
              ElementsAre(Pair("a b", 2), Pair("b a", 1)));
  EXPECT_EQ(NumNgrams(words, 2), 3);
}

TEST(NgramsTest, CharactersAreCodePointsWithoutWhitespace) {
  const UnitSequence characters = UnitSequence::Characters(" \xc3\xa9 t\n");
  EXPECT_EQ(characters.size(), 2);
  EXPECT_THAT(CountNgrams(characters, 2), ElementsAre(Pair("\xc3\xa9t", 1)));
}

TEST(NgramsTest, ShortSequencesHaveNoLongNgrams) {
  const UnitSequence one = UnitSequence::Words({"a"});
  EXPECT_THAT(CountNgrams(one, 2), IsEmpty());
  EXPECT_EQ(NumNgrams(one, 3), 0);
  EXPECT_EQ(UnitSequence::Words({}).size(), 0);
}

TEST(NgramsTest, SharesNoMoreThanThePoorerSideHas) {
  const UnitSequence a = UnitSequence::Words({"x", "x", "x", "y"});
  const UnitSequence b = UnitSequence::Words({"x", "z", "x"});
  EXPECT_EQ(SharedNgrams(CountNgrams(a, 1), CountNgrams(b, 1)), 2);
  EXPECT_EQ(SharedNgrams(CountNgrams(b, 1), CountNgrams(a, 1)), 2);
  EXPECT_EQ(SharedNgrams(CountNgrams(a, 2), CountNgrams(b, 2)), 0);
}

}  // namespace
}  // namespace regard
