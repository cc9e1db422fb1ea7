#include "autodiff/reclaimed_memory.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "autodiff/arena.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

constexpr size_t kMebi = size_t{1} << 20;

char* New(Arena& arena, size_t bytes) {
  return arena.New<char>(static_cast<int64_t>(bytes));
}

TEST(ReclaimedMemoryTest, FreedMemoryIsReusedFromItsEnd) {
  Arena arena(8 * kMebi);
  char* const first = New(arena, kMebi);
  char* const second = New(arena, 2 * kMebi);
  char* const end = New(arena, 64);
  ReclaimedMemory memory;
  ASSERT_TRUE(memory.Begin(arena, New(arena, 0)));
  EXPECT_EQ(memory.Allocate(64, first), nullptr);  // nothing is free
  memory.FreeFrom(end);
  EXPECT_EQ(memory.Allocate(128, first), nullptr);
  EXPECT_EQ(memory.Allocate(64, first), end);
  memory.FreeFrom(second);
  EXPECT_EQ(memory.Allocate(kMebi, first), second + kMebi);
  // The size is rounded up to whole cache lines.
  EXPECT_EQ(memory.Allocate(100, first), second + kMebi - 128);
  EXPECT_EQ(memory.Allocate(kMebi, first), nullptr);
}

TEST(ReclaimedMemoryTest, MemoryIsFreedWithItsOwner) {
  Arena arena(8 * kMebi);
  char* const owners[] = {New(arena, 64), New(arena, 64), New(arena, kMebi)};
  char* const end = New(arena, 3 * kMebi);
  ReclaimedMemory memory;
  ASSERT_TRUE(memory.Begin(arena, New(arena, 0)));
  memory.FreeFrom(end);
  // The order of the calls differs from the order of the owners.
  void* const last = memory.Allocate(kMebi, owners[2]);
  void* const first = memory.Allocate(kMebi, owners[0]);
  void* const middle = memory.Allocate(kMebi, owners[1]);
  EXPECT_EQ(last, end + 2 * kMebi);
  EXPECT_EQ(first, end + kMebi);
  EXPECT_EQ(middle, end);
  // Freeing the owner of `last` also frees the memory before `end`.
  memory.FreeFrom(owners[2]);
  EXPECT_EQ(memory.Allocate(kMebi, owners[0]), last);
  EXPECT_EQ(memory.Allocate(kMebi, owners[0]), owners[2]);
  EXPECT_EQ(memory.Allocate(kMebi, owners[0]), nullptr);
  memory.FreeFrom(owners[1]);
  EXPECT_EQ(memory.Allocate(kMebi, owners[0]), middle);
}

TEST(ReclaimedMemoryTest, NeighboursJoin) {
  Arena arena(8 * kMebi);
  char* const oldest = New(arena, 64);
  char* const owners[] = {New(arena, 64), New(arena, 64), New(arena, 64)};
  char* const end = New(arena, 3 * kMebi);
  // The extent that is freed last lies above, below or between the other
  // extents.
  constexpr int kOrders[][3] = {{2, 1, 0}, {0, 1, 2}, {1, 0, 2}, {2, 0, 1}};
  for (const auto& order : kOrders) {
    ReclaimedMemory memory;
    ASSERT_TRUE(memory.Begin(arena, New(arena, 0)));
    memory.FreeFrom(end);
    for (const int owner : order) {
      ASSERT_NE(memory.Allocate(kMebi, owners[owner]), nullptr);
    }
    ASSERT_EQ(memory.Allocate(64, oldest), nullptr);
    for (const int owner : {2, 1, 0}) memory.FreeFrom(owners[owner]);
    EXPECT_EQ(memory.Allocate(3 * kMebi + 192, oldest), owners[0]);
  }
}

TEST(ReclaimedMemoryTest, TheSmallestHoleIsTaken) {
  Arena arena(16 * kMebi);
  char* const owners[] = {New(arena, 64), New(arena, 64)};
  char* const end = New(arena, 8 * kMebi);
  ReclaimedMemory memory;
  ASSERT_TRUE(memory.Begin(arena, New(arena, 0)));
  memory.FreeFrom(end);
  void* const small = memory.Allocate(kMebi, owners[1]);
  ASSERT_NE(memory.Allocate(kMebi, owners[0]), nullptr);
  memory.FreeFrom(owners[1]);
  EXPECT_EQ(memory.Allocate(kMebi / 2, owners[0]), end + 7 * kMebi + kMebi / 2);
  EXPECT_EQ(memory.Allocate(kMebi / 2, owners[0]), small);
  EXPECT_EQ(memory.Allocate(kMebi / 2, owners[0]), end + 5 * kMebi + kMebi / 2);
}

TEST(ReclaimedMemoryTest, BlocksAreFreedFromTheLast) {
  Arena arena(256);
  char* const owner = New(arena, 64);
  char* const first = New(arena, 128);
  char* const second = New(arena, kMebi);  // a block of its own
  New(arena, 64);
  char* const third = New(arena, 3 * kMebi);
  ReclaimedMemory memory;
  ASSERT_TRUE(memory.Begin(arena, New(arena, 0)));
  memory.FreeFrom(third + 2 * kMebi);
  EXPECT_EQ(memory.Allocate(kMebi, owner), third + 2 * kMebi);
  memory.FreeFrom(first);
  EXPECT_EQ(memory.Allocate(2 * kMebi, owner), third);
  EXPECT_EQ(memory.Allocate(128, owner), first);
  EXPECT_EQ(memory.Allocate(kMebi, owner), second);
}

TEST(ReclaimedMemoryTest, YoungOwnersAndSmallArenasAreLeftToTheArena) {
  Arena arena(8 * kMebi);
  char* const first = New(arena, kMebi);
  ReclaimedMemory memory;
  ASSERT_TRUE(memory.Begin(arena, New(arena, 0)));
  char* const young = New(arena, kMebi);
  memory.FreeFrom(first);
  EXPECT_EQ(memory.Allocate(64, young), nullptr);
  EXPECT_EQ(memory.Allocate(kMebi, young), nullptr);
  Arena small(256);
  New(small, ReclaimedMemory::kMinArena - 1);
  const char* const end = New(small, 0);
  EXPECT_EQ(memory.Begin(small, end),
            small.used() >= ReclaimedMemory::kMinArena);
}

}  // namespace
}  // namespace regard
