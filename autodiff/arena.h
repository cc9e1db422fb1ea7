// An arena: the memory of one training step. Allocation increments a pointer,
// and release sets it back.
//
// During the first steps, each new block is at least twice as large as the last
// one. The next Reset() replaces all blocks with a single block. From then on,
// a step of the same size makes no heap allocation. A large single block
// requests huge pages. Not thread-safe: each tape owns its arenas.
#ifndef AUTODIFF_ARENA_H_
#define AUTODIFF_ARENA_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

// GCC defines a macro for AddressSanitizer. Clang has a feature test.
#ifdef __SANITIZE_ADDRESS__
#define REGARD_ADDRESS_SANITIZER
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define REGARD_ADDRESS_SANITIZER
#endif
#endif

#ifdef REGARD_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#endif

namespace regard {

class Arena {
 public:
  static constexpr size_t kAlignment = 64;

  // A position to rewind to. Marks are ordered: memory that is allocated later
  // has a greater mark.
  struct Mark {
    size_t block = 0;
    size_t offset = 0;
    auto operator<=>(const Mark&) const = default;
  };

  explicit Arena(size_t first_block_bytes = 65536);

  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Returns uninitialized storage. Debug builds fill it with NaN (bytes 0xFF).
  // `alignment` is a power of two up to kAlignment. Smaller alignments let
  // small objects share a cache line with the previous allocation.
  void* Allocate(size_t bytes, size_t alignment = kAlignment) {
    const size_t begin = (offset_ + alignment - 1) & ~(alignment - 1);
    // No underflow: a block ends at a multiple of kAlignment.
    if (bytes > end_ - begin) return AllocateInNextBlock(bytes);
    char* result = base_ + begin;
    offset_ = begin + bytes;
#ifdef REGARD_ADDRESS_SANITIZER
    ASAN_UNPOISON_MEMORY_REGION(result, bytes);
#endif
#ifndef NDEBUG
    std::memset(result, 0xFF, bytes);
#endif
    return result;
  }

  template <typename T>
  T* New(int64_t count) {
    return static_cast<T*>(Allocate(sizeof(T) * static_cast<size_t>(count)));
  }

  // Allocates memory for data that is written once and read many times.
  // Requests huge pages for it immediately.
  template <typename T>
  T* NewWithHugePages(int64_t count) {
    return static_cast<T*>(
        AllocateWithHugePages(sizeof(T) * static_cast<size_t>(count)));
  }

  Mark Save() const { return {block_, offset_}; }
  // Returns the mark of `memory`, which must be allocated from this arena and
  // not yet released.
  Mark MarkOf(const void* memory) const;
  char* At(Mark mark) const {
    return blocks_[mark.block].memory.get() + mark.offset;
  }
  // Returns the end of the used part of `block`, which precedes the current
  // block.
  Mark EndOfBlock(size_t block) const { return {block, blocks_[block].filled}; }

  // Releases everything allocated since `mark`. With AddressSanitizer, released
  // memory and the gaps between allocations are poisoned.
  void Rewind(Mark mark) {
    // Fast path: most scopes of scratch storage allocate nothing.
    if (mark.offset == offset_ && mark.block == block_) return;
    Release(mark);
  }

  // Releases everything. If there are several blocks, replaces them with a
  // single block of their total size.
  void Reset();

  // The number of bytes in use.
  size_t used() const;
  // The largest number of bytes in use at once since construction.
  size_t high_water() const;

 private:
  struct FreeDeleter {
    std::align_val_t alignment;
    void operator()(char* block) const;
  };
  struct Block {
    std::unique_ptr<char[], FreeDeleter> memory;
    size_t bytes;
    size_t filled = 0;  // bytes in use when the arena moved to a later block
  };

  static Block MakeBlock(size_t bytes);
  void* AllocateInNextBlock(size_t bytes);
  void* AllocateWithHugePages(size_t bytes);
  void Release(Mark mark);
  void Enter(size_t block, size_t offset);
  // Poisons everything after the current position.
  void PoisonUnused();

  std::vector<Block> blocks_;
  size_t block_ = 0;  // the current block
  char* base_;        // blocks_[block_].memory
  size_t offset_ = 0;
  size_t end_;  // blocks_[block_].bytes
  size_t high_water_ = 0;
};

}  // namespace regard

#endif  // AUTODIFF_ARENA_H_
