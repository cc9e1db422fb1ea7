// Memory of an arena that is given out again before the arena is reset.
//
// A backward pass walks from the last record of a step to the first. What was
// made behind a record is needed no more when the record has run, whatever else
// the pass does: closures refer to what was there before them. Gradients that
// begin later take its place, so that a step holds few of them beside its
// values, and they are written where a cache was just read.
#ifndef AUTODIFF_RECLAIMED_MEMORY_H_
#define AUTODIFF_RECLAIMED_MEMORY_H_

#include <cstddef>
#include <vector>

#include "autodiff/arena.h"

namespace regard {

class ReclaimedMemory {
 public:
#if defined(NDEBUG) && !defined(REGARD_ADDRESS_SANITIZER)
  // Smaller gradients are left to the arena: to find their places would take
  // longer than to write them. So is what fits into a cache of the core.
  static constexpr size_t kLeastBytes = size_t{1} << 14;
  static constexpr size_t kLeastArena = size_t{1} << 20;
#else
  // Builds that look for errors reclaim all they can.
  static constexpr size_t kLeastBytes = 1;
  static constexpr size_t kLeastArena = 1;
#endif

  // From now on, what `arena` gave out before `end` is reclaimed, the last
  // first. False if the arena holds less than kLeastArena.
  bool Begin(const Arena& arena, const void* end);

  // Frees what the arena gave out from `from` to the end, and what Allocate()
  // gave to owners there. `from` never rises. Debug builds fill it with NaN.
  void FreeFrom(const void* from);

  // Storage that is freed with `owner`, aligned as the arena's; null if there
  // is none, and for owners behind the end. Debug builds fill it with NaN.
  void* Allocate(size_t bytes, const void* owner);

 private:
  struct Extent {
    char* begin;
    char* end;
  };
  struct Given {
    Arena::Mark owner;
    Extent extent;
  };

  void AddHole(Extent extent);

  const Arena* arena_ = nullptr;
  Arena::Mark end_;            // of what is reclaimed
  Arena::Mark freed_;          // where what was freed begins
  std::vector<Extent> holes_;  // none adjacent to another, addresses fall
  std::vector<Given> given_;   // owners rise
};

}  // namespace regard

#endif  // AUTODIFF_RECLAIMED_MEMORY_H_
