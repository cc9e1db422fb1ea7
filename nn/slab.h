// One flat, zeroed, 64-byte aligned block of numbers: all parameters' values,
// gradients, or one of the optimiser's moments.
#ifndef NN_SLAB_H_
#define NN_SLAB_H_

#include <cstdint>
#include <cstdlib>
#include <memory>

#include "absl/types/span.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

template <typename T>
class Slab {
 public:
  static constexpr int64_t kAlignment = 64;  // bytes

  Slab() = default;
  explicit Slab(int64_t size) : size_(size) {
    const int64_t bytes = size * static_cast<int64_t>(sizeof(T));
    // Zeroed by the system: pages that nobody writes to take no memory.
    memory_.reset(std::calloc(static_cast<size_t>(bytes + kAlignment), 1));
    REGARD_CHECK(memory_ != nullptr) << "out of memory: " << bytes << " B";
    void* place = memory_.get();
    size_t space = static_cast<size_t>(bytes + kAlignment);
    data_ = static_cast<T*>(
        std::align(kAlignment, static_cast<size_t>(bytes), place, space));
  }

  int64_t size() const { return size_; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  absl::Span<T> span() {
    return absl::MakeSpan(data(), static_cast<size_t>(size_));
  }
  absl::Span<const T> span() const {
    return absl::MakeConstSpan(data(), static_cast<size_t>(size_));
  }

 private:
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };

  std::unique_ptr<void, Free> memory_;
  T* data_ = nullptr;
  int64_t size_ = 0;
};

}  // namespace regard

#endif  // NN_SLAB_H_
