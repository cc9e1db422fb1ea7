// Memory for packed operands of matrix products.
#ifndef AUTODIFF_KERNELS_PACKING_BUFFER_H_
#define AUTODIFF_KERNELS_PACKING_BUFFER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace regard {

// A buffer aligned to 64 bytes. It never shrinks.
template <typename T>
class PackingBuffer {
 public:
  // Returns memory for `size` elements. A later call may invalidate the pointer
  // and discard the contents.
  T* AtLeast(int64_t size) {
    if (size > size_) {
      size_ = std::max(size, 2 * size_);
      memory_.reset(static_cast<T*>(
          ::operator new(sizeof(T) * static_cast<size_t>(size_), kAlignment)));
    }
    return memory_.get();
  }

 private:
  struct Free {
    void operator()(T* memory) const { ::operator delete(memory, kAlignment); }
  };
  static constexpr std::align_val_t kAlignment = std::align_val_t(64);

  std::unique_ptr<T, Free> memory_;
  int64_t size_ = 0;
};

}  // namespace regard

#endif  // AUTODIFF_KERNELS_PACKING_BUFFER_H_
