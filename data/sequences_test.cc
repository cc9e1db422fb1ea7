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

SequenceTask SmallTask(SequenceOrder order) {
  return {.order = order,
          .symbols = 5,
          .train = {.pairs = 300, .min_length = 1, .max_length = 4},
          .dev = {.pairs = 20, .min_length = 3, .max_length = 3},
          .test = {},
          .test_apart = {}};
}

std::vector<SentencePair> TrainOf(const SequenceTask& task, uint64_t seed) {
  return MakeSequences(task, task.train, seed, "train");
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
  for (const SentencePair& pair : TrainOf(SmallTask(SequenceOrder::kCopy), 1)) {
    EXPECT_EQ(pair.source, pair.target);
    ExpectLinksJoinEqualTokens(pair);
    EXPECT_EQ(pair.alignment.back().source, pair.alignment.back().target);
  }
}

TEST(SequencesTest, ReversesWithAMirroredAlignment) {
  for (const SentencePair& pair :
       TrainOf(SmallTask(SequenceOrder::kReverse), 1)) {
    std::vector<std::string> mirrored(pair.source.rbegin(), pair.source.rend());
    EXPECT_EQ(pair.target, mirrored);
    ExpectLinksJoinEqualTokens(pair);
    EXPECT_EQ(pair.alignment.back().source, 0);
  }
}

TEST(SequencesTest, UsesEveryLengthAndEverySymbol) {
  std::set<size_t> lengths;
  std::set<std::string> symbols;
  for (const SentencePair& pair : TrainOf(SmallTask(SequenceOrder::kCopy), 2)) {
    lengths.insert(pair.source.size());
    symbols.insert(pair.source.begin(), pair.source.end());
  }
  EXPECT_EQ(lengths, (std::set<size_t>{1, 2, 3, 4}));
  EXPECT_EQ(symbols, (std::set<std::string>{"0", "1", "2", "3", "4"}));
}

TEST(SequencesTest, SplitsHaveTheirOwnSizesAndContents) {
  SequenceTask task = SmallTask(SequenceOrder::kCopy);
  task.train = task.dev;
  const auto train = TrainOf(task, 3);
  const auto dev = MakeSequences(task, task.dev, 3, "dev");
  const auto test = MakeSequences(task, task.dev, 3, "test");
  EXPECT_THAT(dev, SizeIs(20));
  for (const SentencePair& pair : dev) EXPECT_THAT(pair.source, SizeIs(3));
  const auto source = [](const SentencePair& pair) { return pair.source; };
  EXPECT_FALSE(std::ranges::equal(dev, test, {}, source, source));
  EXPECT_FALSE(std::ranges::equal(train, test, {}, source, source));
  EXPECT_THAT(MakeSequences(task, task.test, 3, "test"), IsEmpty());
}

TEST(SequencesTest, MorePairsKeepTheEarlierOnes) {
  SequenceTask task = SmallTask(SequenceOrder::kReverse);
  const auto few = TrainOf(task, 4);
  task.train.pairs = 400;
  const auto many = TrainOf(task, 4);
  for (size_t i = 0; i < few.size(); ++i) {
    EXPECT_EQ(few[i].source, many[i].source);
  }
  EXPECT_NE(TrainOf(task, 5)[0].source, many[0].source);
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
  const auto apart = [&] {
    return MakeSequences(task, task.test_apart, 1, "test_apart");
  };
  EXPECT_THAT(apart(), IsEmpty());
  task.test_apart = {.pairs = 30, .min_length = 5, .max_length = 6};
  std::set<size_t> lengths;
  for (const SentencePair& pair : apart()) {
    lengths.insert(pair.source.size());
    ExpectLinksJoinEqualTokens(pair);
  }
  EXPECT_EQ(lengths, (std::set<size_t>{5, 6}));
  // The other splits stay as they are.
  EXPECT_EQ(TrainOf(task, 1)[7].source,
            TrainOf(SmallTask(SequenceOrder::kReverse), 1)[7].source);
}

}  // namespace
}  // namespace regard
