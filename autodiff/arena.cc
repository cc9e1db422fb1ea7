#include "autodiff/arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <new>

namespace regard {

namespace {

constexpr size_t kHugePage = size_t{1} << 21;

size_t RoundUp(size_t bytes, size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

// Requests huge pages, which reduce TLB misses. They are optional, so errors
// are ignored. Both arguments are multiples of kHugePage.
void AdviseHugePages(char* begin, size_t bytes) {
  if (bytes > 0) madvise(begin, bytes, MADV_HUGEPAGE);
}

}  // namespace

void Arena::FreeDeleter::operator()(char* block) const {
  ::operator delete(block, alignment);
}

Arena::Block Arena::MakeBlock(size_t bytes) {
  const size_t alignment = bytes >= kHugePage ? kHugePage : kAlignment;
  bytes = RoundUp(bytes, alignment);
  const FreeDeleter deleter = {std::align_val_t(alignment)};
  char* const memory =
      static_cast<char*>(::operator new(bytes, deleter.alignment));
  return {std::unique_ptr<char[], FreeDeleter>(memory, deleter), bytes};
}

Arena::Arena(size_t first_block_bytes) {
  blocks_.push_back(MakeBlock(first_block_bytes));
  Enter(0, 0);
  PoisonUnused();
}

void Arena::Enter(size_t block, size_t offset) {
  block_ = block;
  base_ = blocks_[block].memory.get();
  offset_ = offset;
  end_ = blocks_[block].bytes;
}

void* Arena::AllocateInNextBlock(size_t bytes) {
  high_water_ = std::max(high_water_, used());
  blocks_[block_].filled = RoundUp(offset_, kAlignment);
  // Rewinding keeps blocks, so the next block may exist already.
  size_t next = block_ + 1;
  while (next < blocks_.size() && blocks_[next].bytes < bytes) {
    blocks_[next++].filled = 0;
  }
  if (next == blocks_.size()) {
    blocks_.push_back(MakeBlock(std::max(bytes, 2 * blocks_.back().bytes)));
  }
  Enter(next, 0);
  PoisonUnused();
  return Allocate(bytes);
}

void* Arena::AllocateWithHugePages(size_t bytes) {
  void* const result = Allocate(bytes);
  // Blocks smaller than a huge page are not aligned to huge pages. The advice
  // covers the whole last page, because the next allocations fill it.
  if (end_ < kHugePage) return result;
  const size_t begin = (offset_ - bytes) / kHugePage * kHugePage;
  AdviseHugePages(base_ + begin, RoundUp(offset_, kHugePage) - begin);
  return result;
}

Arena::Mark Arena::MarkOf(const void* memory) const {
  // If a block does not contain `memory`, the offset wraps around or exceeds
  // the block's size.
  const auto offset = [&](size_t block) {
    return reinterpret_cast<uintptr_t>(memory) -
           reinterpret_cast<uintptr_t>(blocks_[block].memory.get());
  };
  size_t block = block_;
  while (offset(block) >= blocks_[block].bytes) --block;
  return {block, offset(block)};
}

void Arena::PoisonUnused() {
#ifdef REGARD_ADDRESS_SANITIZER
  ASAN_POISON_MEMORY_REGION(base_ + offset_, end_ - offset_);
  for (size_t i = block_ + 1; i < blocks_.size(); ++i) {
    ASAN_POISON_MEMORY_REGION(blocks_[i].memory.get(), blocks_[i].bytes);
  }
#endif
}

void Arena::Release(Mark mark) {
  high_water_ = std::max(high_water_, used());
  Enter(mark.block, mark.offset);
  PoisonUnused();
}

void Arena::Reset() {
  high_water_ = std::max(high_water_, used());
  if (blocks_.size() > 1) {
    size_t bytes = 0;
    for (const Block& block : blocks_) bytes += block.bytes;
    blocks_.clear();
    blocks_.push_back(MakeBlock(bytes));
    // Requests no huge page for a partly filled last page, because the whole
    // page would become resident.
    AdviseHugePages(blocks_[0].memory.get(),
                    high_water_ / kHugePage * kHugePage);
  }
  Enter(0, 0);
  PoisonUnused();
}

size_t Arena::used() const {
  size_t used = offset_;
  for (size_t i = 0; i < block_; ++i) used += blocks_[i].filled;
  return used;
}

size_t Arena::high_water() const { return std::max(high_water_, used()); }

}  // namespace regard
