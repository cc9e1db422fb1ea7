// One flat, zeroed, 64-byte aligned block of numbers: all parameters' values,
// gradients, or one of the optimiser's moments.
#ifndef NN_SLAB_H_
#define NN_SLAB_H_

#include <algorithm>
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
    const int64_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    memory_.reset(static_cast<T*>(std::aligned_alloc(
        kAlignment, static_cast<size_t>(std::max(rounded, kAlignment)))));
    REGARD_CHECK(memory_ != nullptr) << "out of memory: " << rounded << " B";
    std::fill_n(memory_.get(), size, T(0));
  }

  int64_t size() const { return size_; }
  T* data() { return memory_.get(); }
  const T* data() const { return memory_.get(); }
  absl::Span<T> span() {
    return absl::MakeSpan(data(), static_cast<size_t>(size_));
  }
  absl::Span<const T> span() const {
    return absl::MakeConstSpan(data(), static_cast<size_t>(size_));
  }

 private:
  struct Free {
    void operator()(T* memory) const { std::free(memory); }
  };

  std::unique_ptr<T[], Free> memory_;
  int64_t size_ = 0;
};

}  // namespace regard

#endif  // NN_SLAB_H_
