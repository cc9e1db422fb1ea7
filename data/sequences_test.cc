#include "data/sequences.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "data/sentence_pair.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr SequenceSplit kTrain = {300, /*min_length=*/1, /*max_length=*/4};
constexpr SequenceSplit kDev = {20, /*min_length=*/3, /*max_length=*/3};

std::vector<SentencePair> Make(SequenceOrder order, const SequenceSplit& split,
                               uint64_t seed, const char* name = "train") {
  return MakeSequences(order, /*symbols=*/5, split, seed, name);
}

// Target and alignment say the same: a target token is the source token that it
// is linked to.
void ExpectLinksJoinEqualTokens(const SentencePair& pair) {
  ASSERT_EQ(pair.source.size(), pair.target.size());
  ASSERT_EQ(pair.alignment.size(), pair.target.size());
  EXPECT_TRUE(std::is_sorted(pair.alignment.begin(), pair.alignment.end()));
  for (const AlignmentLink& link : pair.alignment) {
    EXPECT_EQ(pair.target[link.target], pair.source[link.source]);
  }
}

TEST(SequencesTest, CopiesInOrder) {
  for (const SentencePair& pair : Make(SequenceOrder::kCopy, kTrain, 1)) {
    EXPECT_EQ(pair.source, pair.target);
    ExpectLinksJoinEqualTokens(pair);
    EXPECT_EQ(pair.alignment.back().source, pair.alignment.back().target);
  }
}

TEST(SequencesTest, ReversesWithAMirroredAlignment) {
  for (const SentencePair& pair : Make(SequenceOrder::kReverse, kTrain, 1)) {
    std::vector<std::string> mirrored(pair.source.rbegin(), pair.source.rend());
    EXPECT_EQ(pair.target, mirrored);
    ExpectLinksJoinEqualTokens(pair);
    EXPECT_EQ(pair.alignment.back().source, 0);
  }
}

TEST(SequencesTest, UsesEveryLengthAndEverySymbol) {
  std::set<size_t> lengths;
  std::set<std::string> symbols;
  for (const SentencePair& pair : Make(SequenceOrder::kCopy, kTrain, 2)) {
    lengths.insert(pair.source.size());
    symbols.insert(pair.source.begin(), pair.source.end());
  }
  EXPECT_EQ(lengths, (std::set<size_t>{1, 2, 3, 4}));
  EXPECT_EQ(symbols, (std::set<std::string>{"0", "1", "2", "3", "4"}));
}

TEST(SequencesTest, SplitsHaveTheirOwnSizesAndContents) {
  const auto train = Make(SequenceOrder::kCopy, kDev, 3);
  const auto dev = Make(SequenceOrder::kCopy, kDev, 3, "dev");
  const auto test = Make(SequenceOrder::kCopy, kDev, 3, "test");
  EXPECT_THAT(dev, SizeIs(20));
  for (const SentencePair& pair : dev) EXPECT_THAT(pair.source, SizeIs(3));
  const auto source = [](const SentencePair& pair) { return pair.source; };
  EXPECT_FALSE(std::ranges::equal(dev, test, {}, source, source));
  EXPECT_FALSE(std::ranges::equal(train, test, {}, source, source));
  EXPECT_THAT(Make(SequenceOrder::kCopy, {}, 3, "test"), IsEmpty());
}

TEST(SequencesTest, MorePairsKeepTheEarlierOnes) {
  const auto few = Make(SequenceOrder::kReverse, kTrain, 4);
  const auto many = Make(SequenceOrder::kReverse, {400, 1, 4}, 4);
  for (size_t i = 0; i < few.size(); ++i) {
    EXPECT_EQ(few[i].source, many[i].source);
  }
  EXPECT_NE(Make(SequenceOrder::kReverse, kTrain, 5)[0].source, many[0].source);
}

TEST(SequencesTest, LinksAreOfAPairInOrder) {
  const std::vector<std::string> forth = {"1", "2", "3"};
  const std::vector<std::string> back = {"3", "2", "1"};
  EXPECT_THAT(SequenceLinks(SequenceOrder::kCopy, forth, forth),
              ElementsAre(AlignmentLink{0, 0}, AlignmentLink{1, 1},
                          AlignmentLink{2, 2}));
  EXPECT_THAT(SequenceLinks(SequenceOrder::kReverse, forth, back),
              ElementsAre(AlignmentLink{0, 2}, AlignmentLink{1, 1},
                          AlignmentLink{2, 0}));
  EXPECT_THAT(SequenceLinks(SequenceOrder::kCopy, forth, back), IsEmpty());
  EXPECT_THAT(SequenceLinks(SequenceOrder::kReverse, forth, forth), IsEmpty());
}

TEST(SequencesTest, LongerOnesAreASplitOfTheirOwn) {
  std::set<size_t> lengths;
  for (const SentencePair& pair :
       Make(SequenceOrder::kReverse, {30, 5, 6}, 1, "test_apart")) {
    lengths.insert(pair.source.size());
    ExpectLinksJoinEqualTokens(pair);
  }
  EXPECT_EQ(lengths, (std::set<size_t>{5, 6}));
}

}  // namespace
}  // namespace regard
