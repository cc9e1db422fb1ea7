#include "seq2seq/metrics/ngrams.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using Units = std::vector<std::string>;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(NgramsTest, CountsRunsOfWords) {
  const Units words = {"a", "b", "a", "b"};
  EXPECT_THAT(CountNgrams(words, 1), ElementsAre(Pair("a", 2), Pair("b", 2)));
  EXPECT_THAT(CountNgrams(words, 2),
              ElementsAre(Pair("a b", 2), Pair("b a", 1)));
  EXPECT_EQ(NumNgrams(words, 2), 3);
}

TEST(NgramsTest, ShortSequencesHaveNoLongNgrams) {
  const Units one = {"a"};
  EXPECT_THAT(CountNgrams(one, 2), IsEmpty());
  EXPECT_EQ(NumNgrams(one, 3), 0);
  EXPECT_EQ(NumNgrams({}, 1), 0);
}

TEST(NgramsTest, SharesAtMostTheSmallerCount) {
  const Units a = {"x", "x", "x", "y"};
  const Units b = {"x", "z", "x"};
  EXPECT_EQ(SharedNgrams(CountNgrams(a, 1), CountNgrams(b, 1)), 2);
  EXPECT_EQ(SharedNgrams(CountNgrams(b, 1), CountNgrams(a, 1)), 2);
  EXPECT_EQ(SharedNgrams(CountNgrams(a, 2), CountNgrams(b, 2)), 0);
}

}  // namespace
}  // namespace regard
