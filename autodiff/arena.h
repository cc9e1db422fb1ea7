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

  // Uninitialised storage, aligned to kAlignment; in debug builds filled with
  // 0xFF, which reads as NaN.
  void* Allocate(size_t bytes) {
    const size_t rounded = (bytes + kAlignment - 1) & ~(kAlignment - 1);
    if (rounded > end_ - offset_) return AllocateInNextBlock(rounded);
    char* result = base_ + offset_;
    offset_ += rounded;
#ifndef NDEBUG
    Poison(result, rounded);
#endif
    return result;
  }

  template <typename T>
  T* New(int64_t count) {
    return static_cast<T*>(Allocate(sizeof(T) * static_cast<size_t>(count)));
  }

  Mark Save() const { return {block_, offset_}; }

  // Releases what was allocated since `mark`.
  void Rewind(Mark mark);

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
