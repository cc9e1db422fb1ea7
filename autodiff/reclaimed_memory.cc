#include "autodiff/reclaimed_memory.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace regard {

namespace {

// Returns the highest aligned address in [begin, end) at which `bytes` bytes
// fit, or null.
char* Place(char* begin, char* end, size_t bytes) {
  const auto last = reinterpret_cast<uintptr_t>(end);
  const auto first = reinterpret_cast<uintptr_t>(begin);
  if (last - first < bytes) return nullptr;
  const uintptr_t place =
      (last - bytes) / Arena::kAlignment * Arena::kAlignment;
  return place < first ? nullptr : begin + (place - first);
}

}  // namespace

bool ReclaimedMemory::Begin(const Arena& arena, const void* end) {
  if (arena.used() < kMinArena) return false;
  arena_ = &arena;
  end_ = freed_ = arena.MarkOf(end);
  holes_.clear();
  allocations_.clear();
  return true;
}

void ReclaimedMemory::FreeFrom(const void* from) {
  const Arena::Mark mark = arena_->MarkOf(from);
  if (mark >= freed_) return;
  while (freed_.block > mark.block) {
    AddHole({arena_->At({freed_.block, 0}), arena_->At(freed_)});
    freed_ = arena_->EndOfBlock(freed_.block - 1);
  }
  AddHole({arena_->At(mark), arena_->At(freed_)});
  freed_ = mark;
  while (!allocations_.empty() && allocations_.back().owner >= mark) {
    AddHole(allocations_.back().extent);
    allocations_.pop_back();
  }
}

void* ReclaimedMemory::Allocate(size_t bytes, const void* owner) {
  const Arena::Mark mark = arena_->MarkOf(owner);
  if (mark >= end_) return nullptr;
  // Takes the smallest hole that fits. Most holes were left by gradients of the
  // same size.
  auto best = holes_.end();
  for (auto hole = holes_.begin(); hole != holes_.end(); ++hole) {
    if (best != holes_.end() &&
        hole->end - hole->begin >= best->end - best->begin) {
      continue;
    }
    if (Place(hole->begin, hole->end, bytes) != nullptr) best = hole;
  }
  if (best == holes_.end()) return nullptr;
  char* const place = Place(best->begin, best->end, bytes);
  const Allocation given = {mark, {place, best->end}};
  const auto behind =
      std::upper_bound(allocations_.begin(), allocations_.end(), given,
                       [](const Allocation& a, const Allocation& b) {
                         return a.owner < b.owner;
                       });
  allocations_.insert(behind, given);
  best->end = place;
  if (best->begin == place) holes_.erase(best);
#ifdef REGARD_ADDRESS_SANITIZER
  ASAN_UNPOISON_MEMORY_REGION(place, bytes);
#endif
  return place;
}

void ReclaimedMemory::AddHole(Extent extent) {
  if (extent.begin == extent.end) return;
#ifndef NDEBUG
  std::memset(extent.begin, 0xFF,
              static_cast<size_t>(extent.end - extent.begin));
#endif
#ifdef REGARD_ADDRESS_SANITIZER
  ASAN_POISON_MEMORY_REGION(extent.begin,
                            static_cast<size_t>(extent.end - extent.begin));
#endif
  // The new hole usually comes last, because FreeFrom() moves to lower
  // addresses.
  auto hole = holes_.end();
  while (hole != holes_.begin() && (hole - 1)->begin < extent.begin) --hole;
  hole = holes_.insert(hole, extent);
  const auto below = hole + 1;
  if (below != holes_.end() && below->end == hole->begin) {
    hole->begin = below->begin;
    holes_.erase(below);
  }
  if (hole == holes_.begin()) return;
  const auto above = hole - 1;
  if (above->begin == hole->end) {
    above->begin = hole->begin;
    holes_.erase(hole);
  }
}

}  // namespace regard
