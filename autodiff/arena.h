// Memory for one training step: allocation bumps a pointer, release rewinds it.
//
// Blocks double in size while the first steps discover how much is needed; the
// next Reset() replaces them by one block, after which no step allocates.
// Not thread-safe: each tape owns its arenas.
#ifndef AUTODIFF_ARENA_H_
#define AUTODIFF_ARENA_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace regard {

class Arena {
 public:
  static constexpr size_t kAlignment = 64;

  // A position to rewind to. Marks nest.
  struct Mark {
    size_t block = 0;
    size_t offset = 0;
  };

  explicit Arena(size_t first_block_bytes = 65536);

  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Uninitialised storage; in debug builds filled with 0xFF, which reads as
  // NaN. `alignment` is a power of two up to kAlignment; with less of it, small
  // things share cache lines with what was allocated before them.
  void* Allocate(size_t bytes, size_t alignment = kAlignment) {
    const size_t begin = (offset_ + alignment - 1) & ~(alignment - 1);
    // No underflow: a block ends at a multiple of kAlignment.
    if (bytes > end_ - begin) return AllocateInNextBlock(bytes);
    char* result = base_ + begin;
    offset_ = begin + bytes;
#ifndef NDEBUG
    Poison(result, bytes);
#endif
    return result;
  }

  template <typename T>
  T* New(int64_t count) {
    return static_cast<T*>(Allocate(sizeof(T) * static_cast<size_t>(count)));
  }

  Mark Save() const { return {block_, offset_}; }

  // Releases what was allocated since `mark`.
  void Rewind(Mark mark) {
    // Most scopes of scratch storage took nothing.
    if (mark.offset == offset_ && mark.block == block_) return;
    Release(mark);
  }

  // Releases everything; several blocks become one of their summed size.
  void Reset();

  // Most bytes in use at once since construction.
  size_t high_water() const;

 private:
  struct FreeDeleter {
    void operator()(char* block) const;
  };
  struct Block {
    std::unique_ptr<char[], FreeDeleter> memory;
    size_t bytes;
  };

  static Block MakeBlock(size_t bytes);
  static void Poison(char* memory, size_t bytes);
  void* AllocateInNextBlock(size_t bytes);
  void Release(Mark mark);
  void Enter(size_t block, size_t offset);
  size_t used() const;

  std::vector<Block> blocks_;
  size_t block_ = 0;  // the current block
  char* base_;        // blocks_[block_].memory
  size_t offset_ = 0;
  size_t end_;  // blocks_[block_].bytes
  size_t high_water_ = 0;
};

}  // namespace regard

#endif  // AUTODIFF_ARENA_H_
