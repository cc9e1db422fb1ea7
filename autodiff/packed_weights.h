// Packed copies of weights. Matrix products read the copies instead of the
// weights. The copies belong to the owner of the weights, such as a
// ParameterStore, and serve all tapes: the leaves of all threads refer to the
// same PackedWeight (Tape::Leaf()).
//
// One of the first products after a change of the weights makes a copy
// (ops/leaf_products.h). Products use it until the weights change again. Its
// memory is kept for the next copy, so that a warm step makes no heap
// allocation.
//
// Thread-safe, except that no product may read weights while a thread changes
// them.
#ifndef AUTODIFF_PACKED_WEIGHTS_H_
#define AUTODIFF_PACKED_WEIGHTS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>

#include "autodiff/arena.h"
#include "autodiff/kernels/matrix.h"

namespace regard {

template <typename T>
class PackedWeights;

// The operand and the layout of a packed copy.
enum class PackedForm {
  kTranspose,         // panels of the transpose, see WithPackedPanels()
  kRoundedTranspose,  // rounded pairs of the transpose, see RoundedPairs()
  kRounded,           // rounded pairs of the part itself
};

// The position of a part within the storage of a weight, in elements.
struct PartPlace {
  int64_t offset;
  int64_t rows;
  int64_t cols;
  int64_t stride;

  bool operator==(const PartPlace&) const = default;
};

// A packed copy of a part of a weight.
template <typename T>
class PackedPart {
 public:
  PackedPart(PackedWeights<T>& owner, const PartPlace& place, PackedForm form,
             PackedPart* next)
      : owner_(owner), place_(place), form_(form), next_(next) {}

  // Returns `matrix`, which must be the part or its transpose, depending on
  // form(). The result refers to the copy unless the weight has changed since
  // the part was packed.
  ConstMatrix<T> WithCurrent(ConstMatrix<T> matrix) const;

  // Adds `products` to the count of products that read the part itself instead
  // of a copy. Returns the count since the weights last changed.
  int64_t CountUnpackedProducts(int64_t products);

  // Packs `matrix` unless another thread has already packed it, and returns it
  // with the copy. If another thread is packing it now, waits for the copy if
  // `waits` is true, and returns `matrix` without a copy if `waits` is false.
  ConstMatrix<T> PackIfOutdated(const ConstMatrix<T>& matrix,
                                bool waits = true);

  const PartPlace& place() const { return place_; }
  PackedForm form() const { return form_; }
  PackedPart* next() const { return next_; }

 private:
  PackedWeights<T>& owner_;
  const PartPlace place_;
  const PackedForm form_;
  PackedPart* const next_;  // the next part of the same weight
  std::mutex mutex_;
  // The copy, in one of two layouts. The pointer to the other layout is null.
  // Other threads must read `packed_version_` before they read the pointers.
  T* panels_ = nullptr;
  uint32_t* pairs_ = nullptr;
  std::atomic<int64_t> packed_version_ = 0;
  // The count is approximate if several threads change it at once.
  std::atomic<int64_t> counted_version_ = 0;
  std::atomic<int64_t> products_ = 0;
};

// The packed copies of the parts of one weight.
template <typename T>
class PackedWeight {
 public:
  explicit PackedWeight(PackedWeights<T>& owner) : owner_(owner) {}

  // Returns the copy of the part at `place`, and adds it if it is new. The
  // pointer is valid for the lifetime of the PackedWeights.
  PackedPart<T>* FindOrAdd(const PartPlace& place, PackedForm form);

 private:
  PackedPart<T>* Find(const PartPlace& place, PackedForm form) const;

  PackedWeights<T>& owner_;
  std::atomic<PackedPart<T>*> parts_ = nullptr;
};

// The packed copies of all weights of one owner. Add() must not be called after
// the first use of a weight.
template <typename T>
class PackedWeights {
 public:
  PackedWeights() = default;
  PackedWeights(const PackedWeights&) = delete;
  PackedWeights& operator=(const PackedWeights&) = delete;

  void Add() { weights_.emplace_back(*this); }
  PackedWeight<T>& operator[](size_t index) { return weights_[index]; }

  // Announces that weights are about to change. All copies become invalid.
  void Invalidate() { version_.fetch_add(1, std::memory_order_relaxed); }

  // The memory of all copies, in bytes.
  int64_t bytes() const;

 private:
  friend class PackedPart<T>;
  friend class PackedWeight<T>;

  // The number of changes so far, plus one.
  int64_t version() const { return version_.load(std::memory_order_relaxed); }

  std::atomic<int64_t> version_ = 1;
  std::deque<PackedWeight<T>> weights_;
  mutable std::mutex mutex_;  // guards the members below
  std::deque<PackedPart<T>> parts_;
  Arena panels_;
};

extern template class PackedPart<float>;
extern template class PackedPart<double>;
extern template class PackedWeight<float>;
extern template class PackedWeight<double>;
extern template class PackedWeights<float>;
extern template class PackedWeights<double>;

}  // namespace regard

#endif  // AUTODIFF_PACKED_WEIGHTS_H_
