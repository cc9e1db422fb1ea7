#include "seq2seq/metrics/exact_match.h"

#include "gtest/gtest.h"

namespace regard {
namespace {

TEST(ExactMatchTest, CountsSentencesThatAreRightThroughout) {
  ExactMatch match;
  EXPECT_EQ(match.Share(), 0.0);
  match.Add({"a", "b"}, {"a", "b"});
  EXPECT_EQ(match.Share(), 1.0);
  match.Add({"a"}, {"a", "b"});
  match.Add({"b", "a"}, {"a", "b"});
  match.Add({}, {});
  EXPECT_EQ(match.Share(), 0.5);
}

}  // namespace
}  // namespace regard
