#include "autodiff/arena.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "gtest/gtest.h"

namespace regard {
namespace {

TEST(ArenaTest, AlignsEveryAllocation) {
  Arena arena(256);
  for (const int64_t count : {0, 1, 3, 64, 1000}) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(arena.New<float>(count)) % 64, 0u);
  }
}

TEST(ArenaTest, SmallAllocationsMayShareACacheLine) {
  Arena arena(256);
  char* array = arena.New<char>(20);
  EXPECT_EQ(arena.Allocate(8, 8), array + 24);
  EXPECT_EQ(arena.Allocate(1, 1), array + 32);
  EXPECT_EQ(arena.New<char>(1), array + 64);
}

TEST(ArenaTest, RewindGivesTheSameStorageAgainAcrossBlocks) {
  Arena arena(256);
  arena.New<char>(128);
  const Arena::Mark mark = arena.Save();
  char* first = arena.New<char>(64);
  arena.New<char>(10000);
  arena.New<char>(100000);
  arena.Rewind(mark);
  EXPECT_EQ(arena.New<char>(64), first);
}

TEST(ArenaTest, MarksSayWhereMemoryLies) {
  Arena arena(256);
  char* const first = arena.New<char>(100);
  const Arena::Mark mark = arena.Save();
  char* const second = arena.New<char>(300);  // a block of its own
  EXPECT_EQ(arena.MarkOf(first), Arena::Mark());
  EXPECT_EQ(arena.MarkOf(first + 99).offset, 99u);
  EXPECT_EQ(arena.MarkOf(second), (Arena::Mark{1, 0}));
  EXPECT_EQ(arena.At(arena.MarkOf(second)), second);
  EXPECT_LT(arena.MarkOf(first), arena.MarkOf(second));
  EXPECT_EQ(arena.EndOfBlock(0).offset, 128u);
  EXPECT_EQ(arena.used(), 128u + 300);
  // `third` fits neither in the rest of the block nor in the next block.
  arena.Rewind(mark);
  char* const third = arena.New<char>(5000);
  EXPECT_EQ(arena.MarkOf(third), (Arena::Mark{2, 0}));
  EXPECT_EQ(arena.EndOfBlock(1).offset, 0u);
  EXPECT_EQ(arena.EndOfBlock(0).offset, 128u);
}

TEST(ArenaTest, DenseArraysFollowOtherAllocations) {
  constexpr int64_t kMebi = int64_t{1} << 20;
  // One array is smaller than a huge page, and one is larger. One array does
  // not fit in the remaining memory of the block.
  for (const size_t first_block : {size_t{256}, size_t{8} << 20}) {
    Arena arena(first_block);
    char* const first = arena.New<char>(100);
    char* const dense = arena.NewWithHugePages<char>(100);
    EXPECT_EQ(dense, first + 128);
    char* const large = arena.NewWithHugePages<char>(3 * kMebi);
    std::fill_n(large, 3 * kMebi, 'x');
    EXPECT_EQ(arena.New<char>(1), large + 3 * kMebi);
    char* const last = arena.NewWithHugePages<char>(20 * kMebi);
    std::fill_n(last, 20 * kMebi, 'y');
    EXPECT_EQ(large[3 * kMebi - 1], 'x');
    EXPECT_EQ(arena.NewWithHugePages<char>(0), last + 20 * kMebi);
  }
}

TEST(ArenaTest, ResetKeepsOneBlockOfTheUsedSize) {
  Arena arena(256);
  arena.New<char>(200);
  arena.New<char>(5000);
  arena.Reset();
  char* first = arena.New<char>(200);
  char* second = arena.New<char>(5000);
  EXPECT_EQ(second - first, 256);
}

#ifdef REGARD_ADDRESS_SANITIZER
TEST(ArenaDeathTest, ReleasedMemoryIsPoisoned) {
  Arena arena(256);
  volatile char* kept = arena.New<char>(8);
  const Arena::Mark mark = arena.Save();
  volatile char* rewound = arena.New<char>(8);
  volatile char* in_next_block = arena.New<char>(1000);
  arena.Rewind(mark);
  kept[7] = 1;
  EXPECT_DEATH(rewound[0] = 1, "use-after-poison");
  EXPECT_DEATH(in_next_block[0] = 1, "use-after-poison");
  arena.New<char>(8);
  rewound[0] = 1;
  EXPECT_DEATH(rewound[8] = 1, "use-after-poison");
  arena.Reset();
  EXPECT_DEATH(kept[0] = 1, "AddressSanitizer");
}
#endif

TEST(ArenaTest, HighWaterExcludesUnusedEndsOfBlocks) {
  Arena arena(256);
  arena.New<char>(130);   // ends in the third cache line
  arena.New<char>(5000);  // a block of its own
  arena.New<char>(5001);  // a third block
  EXPECT_EQ(arena.high_water(), 192u + 5056u + 5001u);
  arena.Reset();
  EXPECT_EQ(arena.high_water(), 192u + 5056u + 5001u);
}

TEST(ArenaTest, HighWaterExcludesSkippedBlocks) {
  Arena arena(256);
  const Arena::Mark mark = arena.Save();
  arena.New<char>(256);
  arena.New<char>(512);
  arena.New<char>(1024);
  arena.Rewind(mark);
  arena.New<char>(256);
  arena.New<char>(1024);  // too large for the block of 512 bytes
  arena.New<char>(512);   // a new block
  EXPECT_EQ(arena.high_water(), 256u + 512u + 1024u);
}

TEST(ArenaTest, HighWaterIsTheMaximumEverInUse) {
  Arena arena(1024);
  arena.New<char>(512);
  arena.Reset();
  arena.New<char>(64);
  EXPECT_EQ(arena.high_water(), 512u);
}

}  // namespace
}  // namespace regard
