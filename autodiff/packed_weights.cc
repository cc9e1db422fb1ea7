#include "autodiff/packed_weights.h"

#include "autodiff/instantiate.h"
#include "autodiff/kernels/gemm.h"

namespace regard {

template <typename T>
const T* PackedPart<T>::Current() const {
  const int64_t packed = packed_version_.load(std::memory_order_acquire);
  return packed == owner_.version() ? panels_ : nullptr;
}

template <typename T>
int64_t PackedPart<T>::CountProducts(int64_t products) {
  const int64_t version = owner_.version();
  if (counted_version_.exchange(version) != version) products_ = 0;
  return products_ += products;
}

template <typename T>
const T* PackedPart<T>::Pack(const ConstMatrix<T>& transposed, bool waits) {
  std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) {
    if (!waits) return nullptr;
    lock.lock();
  }
  if (const T* const panels = Current()) return panels;
  if (panels_ == nullptr) {
    const std::lock_guard<std::mutex> lock_owner(owner_.mutex_);
    panels_ = owner_.panels_.template NewDense<T>(
        PackedSize<T>(transposed.rows, transposed.cols));
  }
  Packed(transposed, panels_);
  packed_version_.store(owner_.version(), std::memory_order_release);
  return panels_;
}

template <typename T>
PackedPart<T>* PackedWeight<T>::Find(const PartPlace& place) const {
  PackedPart<T>* part = parts_.load(std::memory_order_acquire);
  while (part != nullptr && part->place() != place) part = part->next();
  return part;
}

template <typename T>
PackedPart<T>* PackedWeight<T>::FindOrAdd(const PartPlace& place) {
  if (PackedPart<T>* const part = Find(place)) return part;
  const std::lock_guard<std::mutex> lock(owner_.mutex_);
  if (PackedPart<T>* const part = Find(place)) return part;
  PackedPart<T>& added = owner_.parts_.emplace_back(
      owner_, place, parts_.load(std::memory_order_relaxed));
  parts_.store(&added, std::memory_order_release);
  return &added;
}

template <typename T>
int64_t PackedWeights<T>::bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return static_cast<int64_t>(panels_.used());
}

REGARD_INSTANTIATE_CLASS(PackedPart);
REGARD_INSTANTIATE_CLASS(PackedWeight);
REGARD_INSTANTIATE_CLASS(PackedWeights);

}  // namespace regard
