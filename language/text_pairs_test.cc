#include "language/text_pairs.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::IsEmpty;

// The lengths of the lines of each document.
using Lengths = std::vector<std::vector<int64_t>>;

// A text with lines of the given lengths.
struct Text {
  explicit Text(const Lengths& lengths) {
    for (const std::vector<int64_t>& document : lengths) {
      for (const int64_t length : document) {
        lines.push_back(lines.back() + length);
      }
      documents.push_back(static_cast<int64_t>(lines.size()) - 1);
    }
  }

  std::vector<SegmentPair> Pairs(int64_t tokens, uint64_t seed = 1) const {
    return MakeTextPairs(lines, documents, tokens, seed);
  }
  int64_t DocumentOf(int64_t token) const {
    const auto line =
        std::upper_bound(lines.begin(), lines.end(), token) - lines.begin() - 1;
    return std::upper_bound(documents.begin(), documents.end(), line) -
           documents.begin() - 1;
  }

  std::vector<int64_t> lines = {0};
  std::vector<int64_t> documents = {0};
};

// Returns documents of one to nine lines with one to twelve tokens.
Text Many() {
  Lengths lengths;
  for (int64_t d = 0; d < 300; ++d) {
    lengths.emplace_back();
    for (int64_t i = 0; i <= d % 9; ++i) {
      lengths.back().push_back(1 + (7 * d + 5 * i) % 12);
    }
  }
  return Text(lengths);
}

TEST(TextPairsTest, SuccessivePairsShareADocumentAndOthersDoNot) {
  const Text text = Many();
  int apart = 0;
  const std::vector<SegmentPair> pairs = text.Pairs(20);
  for (const SegmentPair& pair : pairs) {
    ASSERT_GT(pair.first.size(), 0);
    ASSERT_GT(pair.second.size(), 0);
    EXPECT_LE(pair.first.size() + pair.second.size(), 20);
    const int64_t of_first = text.DocumentOf(pair.first.begin);
    const int64_t of_second = text.DocumentOf(pair.second.begin);
    EXPECT_EQ(text.DocumentOf(pair.first.end - 1), of_first);
    EXPECT_EQ(text.DocumentOf(pair.second.end - 1), of_second);
    EXPECT_EQ(pair.apart, of_first != of_second);
    if (!pair.apart) {
      EXPECT_LE(pair.first.end, pair.second.begin);
    }
    apart += pair.apart ? 1 : 0;
  }
  // All pairs from chunks of one line come from two documents, and so do half
  // of the other pairs. Such pairs are between 50% and 80% of all pairs.
  EXPECT_GT(apart, static_cast<int>(pairs.size()) / 2);
  EXPECT_LT(apart, static_cast<int>(pairs.size()) * 4 / 5);
}

TEST(TextPairsTest, ShortLinesArePacked) {
  const Text text({std::vector<int64_t>(100, 3), std::vector<int64_t>(100, 3)});
  const std::vector<SegmentPair> pairs = text.Pairs(20);
  int64_t full = 0;
  for (const SegmentPair& pair : pairs) {
    full += pair.first.size() + pair.second.size() == 20 ? 1 : 0;
  }
  // Only pairs at the ends of documents may have fewer than 20 tokens.
  EXPECT_GE(full, static_cast<int64_t>(pairs.size()) * 8 / 10);
  EXPECT_LT(pairs.size(), 200 * 3 * 2 / 20);
}

TEST(TextPairsTest, AnUnusedRestIsReadAgain) {
  // Each token of a document must be in a `first`, or in a `second` that
  // follows its `first`. No pair is long enough to be truncated.
  const Text text({std::vector<int64_t>(40, 1), std::vector<int64_t>(40, 1)});
  std::set<int64_t> seen;
  for (const SegmentPair& pair : text.Pairs(8)) {
    for (int64_t i = pair.first.begin; i < pair.first.end; ++i) seen.insert(i);
    if (pair.apart) continue;
    for (int64_t i = pair.second.begin; i < pair.second.end; ++i) {
      seen.insert(i);
    }
  }
  EXPECT_EQ(seen.size(), 80);
}

TEST(TextPairsTest, LongLinesAreCutSoThatTwoFit) {
  const Text text(Lengths{{100}, {100}});
  const std::vector<SegmentPair> pairs = text.Pairs(20);
  EXPECT_GE(pairs.size(), 10);
  for (const SegmentPair& pair : pairs) {
    EXPECT_EQ(pair.first.size(), 10);
    if (!pair.apart) {
      EXPECT_EQ(pair.first.end, pair.second.begin);
    }
  }
  EXPECT_TRUE(std::any_of(pairs.begin(), pairs.end(),
                          [](const SegmentPair& pair) { return !pair.apart; }));
}

TEST(TextPairsTest, UnrelatedLinesOfOneDocumentAreNotAdjacent) {
  const Text text(Lengths{std::vector<int64_t>(50, 2)});
  int apart = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    for (const SegmentPair& pair : text.Pairs(8, seed)) {
      if (!pair.apart) continue;
      ++apart;
      EXPECT_TRUE(pair.second.end <= pair.first.begin ||
                  pair.second.begin > pair.first.end)
          << pair.first.begin << ' ' << pair.second.begin;
    }
  }
  EXPECT_GT(apart, 20);
  EXPECT_THAT(Text(Lengths{{1}}).Pairs(8), IsEmpty());
  EXPECT_THAT(Text(Lengths()).Pairs(8), IsEmpty());
  const std::vector<SegmentPair> two = Text(Lengths{{1, 1}}).Pairs(8);
  ASSERT_EQ(two.size(), 1);
  EXPECT_FALSE(two[0].apart);
}

TEST(TextPairsTest, DependOnlyOnTheSeed) {
  const Text text = Many();
  const auto ends = [&](uint64_t seed) {
    std::vector<int64_t> all;
    for (const SegmentPair& pair : text.Pairs(20, seed)) {
      all.push_back(pair.first.end);
      all.push_back(pair.second.begin);
    }
    return all;
  };
  EXPECT_EQ(ends(1), ends(1));
  EXPECT_NE(ends(1), ends(2));
}

}  // namespace
}  // namespace regard
