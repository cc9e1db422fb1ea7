#include "data/sequences.h"

#include <algorithm>
#include <set>
#include <string>

#include "data/sentence_pair.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

SequenceTask SmallTask(SequenceOrder order) {
  return {.order = order,
          .symbols = 5,
          .train = {.pairs = 300, .min_length = 1, .max_length = 4},
          .dev = {.pairs = 20, .min_length = 3, .max_length = 3},
          .test = {},
          .test_apart = {}};
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
  for (const SentencePair& pair :
       MakeSequences(SmallTask(SequenceOrder::kCopy), 1).train) {
    EXPECT_EQ(pair.source, pair.target);
    ExpectLinksJoinEqualTokens(pair);
    EXPECT_EQ(pair.alignment.back().source, pair.alignment.back().target);
  }
}

TEST(SequencesTest, ReversesWithAMirroredAlignment) {
  for (const SentencePair& pair :
       MakeSequences(SmallTask(SequenceOrder::kReverse), 1).train) {
    std::vector<std::string> mirrored(pair.source.rbegin(), pair.source.rend());
    EXPECT_EQ(pair.target, mirrored);
    ExpectLinksJoinEqualTokens(pair);
    EXPECT_EQ(pair.alignment.back().source, 0);
  }
}

TEST(SequencesTest, UsesEveryLengthAndEverySymbol) {
  std::set<size_t> lengths;
  std::set<std::string> symbols;
  for (const SentencePair& pair :
       MakeSequences(SmallTask(SequenceOrder::kCopy), 2).train) {
    lengths.insert(pair.source.size());
    symbols.insert(pair.source.begin(), pair.source.end());
  }
  EXPECT_EQ(lengths, (std::set<size_t>{1, 2, 3, 4}));
  EXPECT_EQ(symbols, (std::set<std::string>{"0", "1", "2", "3", "4"}));
}

TEST(SequencesTest, SplitsHaveTheirOwnSizesAndContents) {
  SequenceTask task = SmallTask(SequenceOrder::kCopy);
  task.train = task.test = task.dev;
  const SequenceData data = MakeSequences(task, 3);
  EXPECT_THAT(data.dev, SizeIs(20));
  for (const SentencePair& pair : data.dev) EXPECT_THAT(pair.source, SizeIs(3));
  const auto source = [](const SentencePair& pair) { return pair.source; };
  EXPECT_FALSE(std::ranges::equal(data.dev, data.test, {}, source, source));
  EXPECT_FALSE(std::ranges::equal(data.train, data.test, {}, source, source));
  EXPECT_THAT(MakeSequences(SmallTask(SequenceOrder::kCopy), 3).test,
              IsEmpty());
}

TEST(SequencesTest, MorePairsKeepTheEarlierOnes) {
  SequenceTask task = SmallTask(SequenceOrder::kReverse);
  const SequenceData few = MakeSequences(task, 4);
  task.train.pairs = 400;
  const SequenceData many = MakeSequences(task, 4);
  for (size_t i = 0; i < few.train.size(); ++i) {
    EXPECT_EQ(few.train[i].source, many.train[i].source);
  }
  EXPECT_NE(MakeSequences(task, 5).train[0].source, many.train[0].source);
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
  SequenceTask task = SmallTask(SequenceOrder::kReverse);
  EXPECT_THAT(MakeSequences(task, 1).test_apart, IsEmpty());
  task.test_apart = {.pairs = 30, .min_length = 5, .max_length = 6};
  std::set<size_t> lengths;
  for (const SentencePair& pair : MakeSequences(task, 1).test_apart) {
    lengths.insert(pair.source.size());
    ExpectLinksJoinEqualTokens(pair);
  }
  EXPECT_EQ(lengths, (std::set<size_t>{5, 6}));
  // The other splits stay as they are.
  EXPECT_EQ(
      MakeSequences(task, 1).train[7].source,
      MakeSequences(SmallTask(SequenceOrder::kReverse), 1).train[7].source);
}

}  // namespace
}  // namespace regard
