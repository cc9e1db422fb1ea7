#include "seq2seq/decoding/growing_rows.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include "autodiff/arena.h"
#include "autodiff/shape.h"
#include "autodiff/tape.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::ElementsAre;

// Tests every arrangement of at most four rows. Each new row is a copy of one
// of four old rows.
TEST(RowCopyPlannerTest, MakeEveryArrangement) {
  constexpr int64_t kMaxRows = 4;
  Arena arena;
  RowCopyPlanner copies(kMaxRows, arena);
  for (size_t count = 0; count <= kMaxRows; ++count) {
    for (int number = 0; number < 1 << (2 * count); ++number) {
      std::vector<int32_t> rows;
      size_t moved = 0;
      for (size_t i = 0; i < count; ++i) {
        rows.push_back(number >> (2 * i) & 3);
        if (rows.back() != static_cast<int32_t>(i)) ++moved;
      }
      std::vector<int32_t> array = {0, 1, 2, 3, -1};
      const auto plan = copies.PlanCopies(rows);
      for (const RowCopyPlanner::Copy& copy : plan) {
        array[static_cast<size_t>(copy.to)] =
            array[static_cast<size_t>(copy.from)];
      }
      array.resize(count);
      ASSERT_EQ(array, rows) << number;
      // There are at most two cycles, each of which needs one additional copy.
      ASSERT_LE(plan.size(), moved + moved / 2);
      if (moved == 0) {
        ASSERT_TRUE(plan.empty());
      }
    }
  }
}

TEST(RowCopyPlannerDeathTest, RejectsTooManyRows) {
  Arena arena;
  RowCopyPlanner copies(2, arena);
  EXPECT_DEATH(copies.PlanCopies({0, 1, 1}), "3 rows, at most 2");
  EXPECT_DEATH(copies.PlanCopies({2}), "row 2");
}

// A step writes only its own positions. Only a few steps move data, to widen
// the array.
TEST(GrowingRowsTest, MovesSeldom) {
  constexpr int64_t kSteps = 1000;
  Tape<float> tape;
  Arena arena;
  GrowingRows<float> rows(/*max_rows=*/2, /*max_positions=*/kSteps, arena);
  std::set<int64_t> extents;
  std::set<const float*> places;
  for (int64_t t = 0; t < kSteps; ++t) {
    const auto now = static_cast<float>(t);
    rows.Append(t, tape.Constant({2, 1, 1}, {now, -now}));
    const Var<float> view = rows.View(tape);
    extents.insert(view.dim(1));
    places.insert(view.data());
    ASSERT_GT(view.dim(1), t);
    ASSERT_LE(view.dim(1), std::max<int64_t>(t + 16, 5 * t / 4 + 1));
  }
  EXPECT_LE(extents.size(), 20u);
  EXPECT_LE(places.size(), 7u);
  const Var<float> view = rows.View(tape);
  ASSERT_EQ(view.shape(), Shape({2, kSteps, 1}));
  for (int64_t t = 0; t < kSteps; ++t) {
    EXPECT_EQ(view.data()[t], static_cast<float>(t));
    EXPECT_EQ(view.data()[kSteps + t], static_cast<float>(-t));
  }
}

TEST(GrowingRowsTest, AViewIsRewound) {
  Tape<float> tape;
  Arena arena;
  GrowingRows<float> rows(/*max_rows=*/1, /*max_positions=*/1, arena);
  rows.Append(0, tape.Constant({1, 1, 1}, {3}));
  const Tape<float>::Mark mark = tape.Save();
  const size_t before = tape.leaf_arena().used() + tape.arena().used();
  for (int step = 0; step < 10; ++step) {
    EXPECT_EQ(rows.View(tape).item(), 3);
    tape.Rewind(mark);
    EXPECT_EQ(tape.leaf_arena().used() + tape.arena().used(), before);
  }
}

TEST(GrowingRowsTest, AFreshStartClearsAllRows) {
  Tape<float> tape;
  Arena arena;
  GrowingRows<float> rows(/*max_rows=*/2, /*max_positions=*/2, arena);
  rows.Append(0, tape.Constant({2, 2, 1}, {1, 2, 3, 4}));
  rows.Append(0, tape.Constant({2, 1, 1}, {5, 6}));
  const Var<float> view = rows.View(tape);
  EXPECT_THAT(view.span(), ElementsAre(5, 0, 6, 0));
}

TEST(GrowingRowsTest, EmptyExtents) {
  Tape<float> tape;
  Arena arena;
  GrowingRows<float> rows(/*max_rows=*/3, /*max_positions=*/1, arena);
  rows.Append(0, tape.Constant({3, 0, 2}));
  rows.Append(0, tape.Constant({3, 1, 2}, {1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(rows.View(tape).shape(), Shape({3, 1, 2}));
  rows.Gather({}, 0);
  EXPECT_EQ(rows.View(tape).shape(), Shape({0, 1, 2}));
}

TEST(GrowingRowsDeathTest, RefusesOtherShapes) {
  Tape<float> tape;
  Arena arena;
  GrowingRows<float> rows(/*max_rows=*/3, /*max_positions=*/2, arena);
  rows.Append(0, tape.Full({2, 1, 4}, 1));
  EXPECT_DEATH(rows.Append(1, tape.Full({3, 1, 4}, 1)), "2 rows");
  EXPECT_DEATH(rows.Append(1, tape.Full({2, 1, 5}, 1)), "2, 1, 5");
  EXPECT_DEATH(rows.Append(1, tape.Full({2, 2, 4}, 1)),
               "3 positions, at most 2");
}

// The rows have two heads of width 1. Added rows must equal rows that were
// there from the start.
TEST(GrowingRowsTest, RowsAreAddedBehindTheOthers) {
  Tape<float> tape;
  Arena arena;
  GrowingRows<float> rows(/*max_rows=*/3, /*max_positions=*/40, arena);
  rows.Append(0, tape.Constant({1, 2, 3, 1}, {1, 2, 3, 4, 5, 6}));
  rows.AddRows(tape.Constant({2, 2, 3, 1},
                             {11, 12, 13, 14, 15, 16, 21, 22, 23, 24, 25, 26}));
  rows.Append(3, tape.Constant({3, 2, 1, 1}, {7, 8, 17, 18, 27, 28}));
  const Var<float> view = rows.View(tape);
  ASSERT_EQ(view.dim(0), 3);
  const int64_t extent = view.dim(2);
  for (int64_t i = 0; i < 6; ++i) {
    const float* const block = view.data() + i * extent;
    const auto first = static_cast<float>(10 * (i / 2) + 3 * (i % 2));
    EXPECT_THAT(std::vector<float>(block, block + 4),
                ElementsAre(first + 1, first + 2, first + 3,
                            static_cast<float>(10 * (i / 2) + 7 + i % 2)));
    EXPECT_EQ(std::count(block + 4, block + extent, 0), extent - 4);
  }
}

TEST(GrowingRowsDeathTest, RefusesRowsThatDoNotFit) {
  Tape<float> tape;
  Arena arena;
  GrowingRows<float> rows(/*max_rows=*/2, /*max_positions=*/40, arena);
  EXPECT_DEATH(rows.AddRows(tape.Full({1, 2, 1}, 0)), "behind 0 of at most 2");
  rows.Append(0, tape.Full({1, 20, 1}, 0));
  EXPECT_DEATH(rows.AddRows(tape.Full({1, 21, 1}, 0)), "of 20 positions");
  EXPECT_DEATH(rows.AddRows(tape.Full({1, 20, 2}, 0)), "behind 1");
  EXPECT_DEATH(rows.AddRows(tape.Full({2, 20, 1}, 0)), "behind 1");
}

}  // namespace
}  // namespace regard
