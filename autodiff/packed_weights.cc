#include "autodiff/packed_weights.h"

#include "autodiff/instantiate.h"
#include "autodiff/kernels/gemm.h"

namespace regard {

template <typename T>
ConstMatrix<T> PackedPart<T>::WithCurrent(ConstMatrix<T> matrix) const {
  const int64_t packed = packed_version_.load(std::memory_order_acquire);
  if (packed != owner_.version()) return matrix;
  matrix.panels = panels_;
  matrix.pairs = pairs_;
  return matrix;
}

template <typename T>
int64_t PackedPart<T>::CountUnpackedProducts(int64_t products) {
  const int64_t version = owner_.version();
  if (counted_version_.exchange(version) != version) products_ = 0;
  return products_ += products;
}

template <typename T>
ConstMatrix<T> PackedPart<T>::PackIfOutdated(const ConstMatrix<T>& matrix,
                                             bool waits) {
  const auto is_packed = [](const ConstMatrix<T>& x) {
    return x.panels != nullptr || x.pairs != nullptr;
  };
  const ConstMatrix<T> before = WithCurrent(matrix);
  if (is_packed(before)) return before;
  std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) {
    if (!waits) return matrix;
    lock.lock();
  }
  const ConstMatrix<T> of_other_thread = WithCurrent(matrix);
  if (is_packed(of_other_thread)) return of_other_thread;
  const int64_t rows = matrix.rows;
  const int64_t cols = matrix.cols;
  if (panels_ == nullptr && pairs_ == nullptr) {
    const std::lock_guard<std::mutex> lock_owner(owner_.mutex_);
    Arena& memory = owner_.panels_;
    if (form_ == PackedForm::kTranspose) {
      panels_ = memory.template NewWithHugePages<T>(PackedSize<T>(rows, cols));
    } else {
      pairs_ = memory.template NewWithHugePages<uint32_t>(
          RoundedPairsSize(rows, cols));
    }
  }
  if (form_ == PackedForm::kTranspose) {
    WithPackedPanels(matrix, panels_);
  } else {
    RoundedPairs(matrix, pairs_);
  }
  packed_version_.store(owner_.version(), std::memory_order_release);
  return WithCurrent(matrix);
}

template <typename T>
PackedPart<T>* PackedWeight<T>::Find(const PartPlace& place,
                                     PackedForm form) const {
  PackedPart<T>* part = parts_.load(std::memory_order_acquire);
  while (part != nullptr && (part->place() != place || part->form() != form)) {
    part = part->next();
  }
  return part;
}

template <typename T>
PackedPart<T>* PackedWeight<T>::FindOrAdd(const PartPlace& place,
                                          PackedForm form) {
  if (PackedPart<T>* const part = Find(place, form)) return part;
  const std::lock_guard<std::mutex> lock(owner_.mutex_);
  if (PackedPart<T>* const part = Find(place, form)) return part;
  PackedPart<T>& added = owner_.parts_.emplace_back(
      owner_, place, form, parts_.load(std::memory_order_relaxed));
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
