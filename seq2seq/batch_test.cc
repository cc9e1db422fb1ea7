// Tests padded batches.
#include <vector>

#include "autodiff/arena.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "seq2seq/encoder_decoder.h"
#include "seq2seq/testing/encoded_pair.h"

namespace regard {
namespace {

using ::testing::ElementsAre;

TEST(BatchTest, PadsToTheLongestAndShiftsTheTarget) {
  const std::vector<EncodedPair> pairs = {
      {{9, 9, 9, 9, 3}, {9, 3}}, {{4, 3}, {5, 6, 3}}, {{3}, {3}}};
  Arena arena;
  const Batch batch = MakeBatch(pairs, {1, 2}, arena);
  EXPECT_EQ(batch.source.rows, 2);
  EXPECT_EQ(batch.source.time, 2);
  EXPECT_EQ(batch.input.time, 3);
  EXPECT_THAT(batch.source.ids, ElementsAre(4, 3, 3, 1));
  EXPECT_THAT(batch.source.lengths, ElementsAre(2, 1));
  EXPECT_THAT(batch.input.ids, ElementsAre(2, 5, 6, 2, 1, 1));
  EXPECT_THAT(batch.target, ElementsAre(5, 6, 3, 3, 1, 1));
}

}  // namespace
}  // namespace regard
