// Packed copies of weights, which products read instead of the weights. They
// belong to what owns the weights, such as a ParameterStore, and serve all
// tapes: each thread's leaves name the same PackedWeight (Tape::Leaf()).
//
// A copy is made when a product first wants it, and is in use until the weights
// change. Its memory is kept for the next copy, so that a warm step makes no
// heap allocation.
//
// Any number of threads may use this at once, but whoever changes weights runs
// alone, as no product may read them meanwhile.
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

// The place of a part of a weight in the weight's storage, in elements.
struct PartPlace {
  int64_t offset;
  int64_t rows;
  int64_t cols;
  int64_t stride;

  bool operator==(const PartPlace&) const = default;
};

// The packed transpose of a part.
template <typename T>
class PackedPart {
 public:
  PackedPart(PackedWeights<T>& owner, const PartPlace& place, PackedPart* next)
      : owner_(owner), place_(place), next_(next) {}

  // The copy; null if there is none of the weight as it is now.
  const T* Current() const;

  // Notes products that read the part itself. Returns how many did since the
  // weights changed.
  int64_t Count(int64_t products);

  // Makes the copy of `transposed`, which is the part, unless another thread
  // has made it. While another thread makes it, waits for it or returns null.
  const T* Pack(const ConstMatrix<T>& transposed, bool waits = true);

  const PartPlace& place() const { return place_; }
  PackedPart* next() const { return next_; }

 private:
  PackedWeights<T>& owner_;
  const PartPlace place_;
  PackedPart* const next_;  // part of this weight
  std::mutex mutex_;
  T* panels_ = nullptr;  // read by others after `packed_version_`
  std::atomic<int64_t> packed_version_ = 0;
  // The count is approximate if threads change these at once.
  std::atomic<int64_t> counted_version_ = 0;
  std::atomic<int64_t> products_ = 0;
};

// The packed parts of one weight.
template <typename T>
class PackedWeight {
 public:
  explicit PackedWeight(PackedWeights<T>& owner) : owner_(owner) {}

  // Valid as long as the owner.
  PackedPart<T>* FindOrAdd(const PartPlace& place);

 private:
  PackedPart<T>* Find(const PartPlace& place) const;

  PackedWeights<T>& owner_;
  std::atomic<PackedPart<T>*> parts_ = nullptr;
};

// All weights of one owner. They are added before the first is used.
template <typename T>
class PackedWeights {
 public:
  PackedWeights() = default;
  PackedWeights(const PackedWeights&) = delete;
  PackedWeights& operator=(const PackedWeights&) = delete;

  void Add() { weights_.emplace_back(*this); }
  PackedWeight<T>& operator[](size_t index) { return weights_[index]; }

  // Says that weights are about to change: no copy is current any more.
  void Invalidate() { version_.fetch_add(1, std::memory_order_relaxed); }

  // Memory of all copies.
  int64_t bytes() const;

 private:
  friend class PackedPart<T>;
  friend class PackedWeight<T>;

  // One more than the changes so far.
  int64_t version() const { return version_.load(std::memory_order_relaxed); }

  std::atomic<int64_t> version_ = 1;
  std::deque<PackedWeight<T>> weights_;
  mutable std::mutex mutex_;  // guards the rest
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
