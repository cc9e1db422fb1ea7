// Reuses memory of an arena before the arena is reset.
//
// A backward pass runs the records of a step from the last to the first.
// Closures refer only to memory that was allocated before their record. After a
// record has run, everything that was allocated after it is therefore free.
// Gradients that are allocated later in the pass reuse this memory. A step thus
// needs little memory for gradients in addition to its values, and writes
// gradients to memory that is still in the cache.
#ifndef AUTODIFF_RECLAIMED_MEMORY_H_
#define AUTODIFF_RECLAIMED_MEMORY_H_

#include <cstddef>
#include <vector>

#include "autodiff/arena.h"

namespace regard {

class ReclaimedMemory {
 public:
#if defined(NDEBUG) && !defined(REGARD_ADDRESS_SANITIZER)
  // Smaller gradients stay in the arena, because the search for free memory
  // would take longer than writing them. An arena that fits into a cache of the
  // core is not reclaimed either.
  static constexpr size_t kMinBytes = size_t{1} << 14;
  static constexpr size_t kMinArena = size_t{1} << 20;
#else
  // Debug and AddressSanitizer builds reclaim all memory that they can, to find
  // errors.
  static constexpr size_t kMinBytes = 1;
  static constexpr size_t kMinArena = 1;
#endif

  // Begins to reclaim memory that `arena` allocated before `end`, latest
  // allocation first. Returns false if the arena contains less than kMinArena
  // bytes.
  bool Begin(const Arena& arena, const void* end);

  // Frees the arena's memory from `from` to the end, and the memory that
  // Allocate() returned for owners in this range. `from` must not be greater
  // than in the previous call. Debug builds fill the memory with NaN.
  void FreeFrom(const void* from);

  // Returns storage that is freed with `owner`, with the alignment of the
  // arena. Returns null if no hole is large enough or if `owner` lies after the
  // end of the reclaimed memory. Debug builds fill the storage with NaN.
  void* Allocate(size_t bytes, const void* owner);

 private:
  struct Extent {
    char* begin;
    char* end;
  };
  struct Allocation {
    Arena::Mark owner;
    Extent extent;
  };

  void AddHole(Extent extent);

  const Arena* arena_ = nullptr;
  Arena::Mark end_;            // the end of the reclaimed memory
  Arena::Mark freed_;          // the beginning of the freed memory
  std::vector<Extent> holes_;  // by descending address; never adjacent
  std::vector<Allocation> allocations_;  // sorted by owner, in ascending order
};

}  // namespace regard

#endif  // AUTODIFF_RECLAIMED_MEMORY_H_
