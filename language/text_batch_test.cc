#include "language/text_batch.h"

#include <cstdint>
#include <vector>

#include "autodiff/arena.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::ElementsAre;

TEST(TextBatchTest, EachIdPredictsTheNext) {
  Arena arena;
  const std::vector<int32_t> ids = {10, 11, 12, 13, 14};
  const TextWindow windows[] = {{0, 3}, {1, 3}};
  const DecoderBatch batch = MakeTextBatch(ids, windows, arena);
  EXPECT_EQ(batch.input.rows, 2);
  EXPECT_EQ(batch.input.time, 3);
  EXPECT_THAT(batch.input.ids, ElementsAre(10, 11, 12, 11, 12, 13));
  EXPECT_THAT(batch.target, ElementsAre(11, 12, 13, 12, 13, 14));
}

TEST(TextBatchTest, WhatIsSkippedOrMissingIsNoTarget) {
  Arena arena;
  const std::vector<int32_t> ids = {10, 11, 12, 13, 14};
  const TextWindow windows[] = {{0, 4, 2}, {3, 1}};
  const DecoderBatch batch = MakeTextBatch(ids, windows, arena);
  EXPECT_EQ(batch.input.time, 4);
  EXPECT_THAT(batch.input.ids, ElementsAre(10, 11, 12, 13, 13, 0, 0, 0));
  EXPECT_THAT(batch.target, ElementsAre(-1, -1, 13, 14, 14, -1, -1, -1));
}

TEST(TextBatchDeathTest, RefusesAWindowWhoseLastIdPredictsNothing) {
  Arena arena;
  const std::vector<int32_t> ids = {10, 11};
  const TextWindow windows[] = {{0, 2}};
  EXPECT_DEATH(MakeTextBatch(ids, windows, arena), "ids 0 to 2 of 2");
}

}  // namespace
}  // namespace regard
