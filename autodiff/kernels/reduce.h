// Reductions of a row in a fixed order.
//
// Sixteen lanes, counted from the start of the row, are added element by
// element and then folded as a tree: a row's bits depend on nothing but its
// elements. Trailing zeros change no bit of a sum.
#ifndef AUTODIFF_KERNELS_REDUCE_H_
#define AUTODIFF_KERNELS_REDUCE_H_

#include <algorithm>
#include <cstdint>
#include <limits>

namespace regard {

inline constexpr int64_t kLanes = 16;

// The sum of `lanes`, as a tree; changes them.
template <typename T>
inline T FoldLanes(T (&lanes)[kLanes]) {
  for (int64_t half = kLanes / 2; half > 0; half /= 2) {
    for (int64_t j = 0; j < half; ++j) lanes[j] += lanes[j + half];
  }
  return lanes[0];
}

// Sum of f(i) for 0 <= i < n.
template <typename T, typename F>
inline T SumEach(int64_t n, F f) {
  T lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t j = 0; j < kLanes; ++j) lanes[j] += f(i + j);
  }
  if (i < n) {
    // A condition instead of a shorter loop: so the lanes stay in registers,
    // and the last elements are read under a mask.
    for (int64_t j = 0; j < kLanes; ++j) {
      if (j < n - i) lanes[j] += f(i + j);
    }
  }
  return FoldLanes(lanes);
}

template <typename T>
inline T SumRow(const T* x, int64_t n) {
  return SumEach<T>(n, [=](int64_t i) { return x[i]; });
}

template <typename T>
inline T DotRow(const T* x, const T* y, int64_t n) {
  return SumEach<T>(n, [=](int64_t i) { return x[i] * y[i]; });
}

// Largest element; -inf where n is 0.
template <typename T>
inline T MaxRow(const T* x, int64_t n) {
  T lanes[kLanes];
  std::fill_n(lanes, kLanes, -std::numeric_limits<T>::infinity());
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t j = 0; j < kLanes; ++j) {
      lanes[j] = x[i + j] > lanes[j] ? x[i + j] : lanes[j];
    }
  }
  for (int64_t j = 0; i + j < n; ++j) lanes[j] = std::max(lanes[j], x[i + j]);
  return *std::max_element(lanes, lanes + kLanes);
}

}  // namespace regard

#endif  // AUTODIFF_KERNELS_REDUCE_H_
