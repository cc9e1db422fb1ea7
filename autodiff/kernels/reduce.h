// Reductions of a row in a fixed order: sums, dot products and maxima.
//
// A sum adds element i to lane i modulo 16, and then folds the lanes as a tree.
// The bits of a result depend only on the elements of its row. Trailing zeros
// do not change the bits of a sum.
#ifndef AUTODIFF_KERNELS_REDUCE_H_
#define AUTODIFF_KERNELS_REDUCE_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace regard {

inline constexpr int64_t kLanes = 16;

// Reduces `lanes` with f, as a tree. Each level has a loop of its own, so that
// all values stay in registers.
template <typename T, typename F>
inline T FoldLanes(const T (&lanes)[kLanes], F f) {
  T eight[8];
  T four[4];
  for (int64_t j = 0; j < 8; ++j) eight[j] = f(lanes[j], lanes[j + 8]);
  for (int64_t j = 0; j < 4; ++j) four[j] = f(eight[j], eight[j + 4]);
  return f(f(four[0], four[2]), f(four[1], four[3]));
}

template <typename T>
inline T FoldLanes(const T (&lanes)[kLanes]) {
  return FoldLanes(lanes, [](T a, T b) { return a + b; });
}

// A stand-in for T that supports arithmetic, but no comparison.
template <typename T>
struct ArithmeticOnlyScalar {
  ArithmeticOnlyScalar(T) {}  // NOLINT(runtime/explicit)
  friend ArithmeticOnlyScalar operator+(ArithmeticOnlyScalar x,
                                        ArithmeticOnlyScalar) {
    return x;
  }
  friend ArithmeticOnlyScalar operator-(ArithmeticOnlyScalar x,
                                        ArithmeticOnlyScalar) {
    return x;
  }
  friend ArithmeticOnlyScalar operator*(ArithmeticOnlyScalar x,
                                        ArithmeticOnlyScalar) {
    return x;
  }
  friend ArithmeticOnlyScalar sqrt(ArithmeticOnlyScalar x) { return x; }
};

// ArithmeticOnlyScalar<T>, once for each type X of a pack.
template <typename T, typename X>
using ArithmeticOnlyScalarFor = ArithmeticOnlyScalar<T>;

// Returns the sum of f(x[i]...) for 0 <= i < n, with elements converted to T. f
// must be generic. f must not contain a condition such as `x > 0 ? y : 0`,
// because GCC 12 then adds wrong lanes at -O3 with AVX. The constraint rejects
// a condition on the elements at compile time.
template <typename T, typename F, typename... X>
requires std::is_invocable_r_v<ArithmeticOnlyScalar<T>, F,
                               ArithmeticOnlyScalarFor<T, X>...>
inline T SumEach(int64_t n, F f, X... x) {
  T lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t j = 0; j < kLanes; ++j) {
      lanes[j] += f(static_cast<T>(x[i + j])...);
    }
  }
  if (i < n) {
    // Unlike a shorter loop, a condition keeps the lanes in registers. The last
    // elements are loaded with a mask.
    for (int64_t j = 0; j < kLanes; ++j) {
      if (j < n - i) lanes[j] += f(static_cast<T>(x[i + j])...);
    }
  }
  return FoldLanes(lanes);
}

template <typename T>
inline T SumRow(const T* x, int64_t n) {
  return SumEach<T>(
      n, [](auto x) { return x; }, x);
}

template <typename T>
inline T DotRow(const T* x, const T* y, int64_t n) {
  return SumEach<T>(
      n, [](auto x, auto y) { return x * y; }, x, y);
}

// Returns the largest element, or -inf if n is 0.
template <typename T>
inline T MaxRow(const T* x, int64_t n) {
  const auto larger = [](T a, T b) { return b > a ? b : a; };
  if (n < kLanes) {
    T max = -std::numeric_limits<T>::infinity();
    for (int64_t i = 0; i < n; ++i) max = larger(max, x[i]);
    return max;
  }
  // The order of the comparisons does not matter, so this function uses more
  // lanes. More lanes hide the latency of a comparison.
  constexpr int64_t kWide = 4 * kLanes;
  T wide[kWide];
  std::fill_n(wide, kWide, -std::numeric_limits<T>::infinity());
  int64_t i = 0;
  for (; i + kWide <= n; i += kWide) {
    for (int64_t j = 0; j < kWide; ++j) wide[j] = larger(wide[j], x[i + j]);
  }
  T lanes[kLanes];
  for (int64_t j = 0; j < kLanes; ++j) {
    lanes[j] = larger(larger(wide[j], wide[j + kLanes]),
                      larger(wide[j + 2 * kLanes], wide[j + 3 * kLanes]));
  }
  const auto compare = [&](int64_t first) {
    for (int64_t j = 0; j < kLanes; ++j) {
      lanes[j] = larger(lanes[j], x[first + j]);
    }
  };
  for (; i + kLanes <= n; i += kLanes) compare(i);
  // Compares the last kLanes elements. Some of them are compared twice.
  compare(n - kLanes);
  return FoldLanes(lanes, larger);
}

}  // namespace regard

#endif  // AUTODIFF_KERNELS_REDUCE_H_
