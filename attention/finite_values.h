// Keeps what is not finite in hidden keys and values out of matrix products,
// where a weight of 0 would not: 0 times NaN is NaN.
#ifndef ATTENTION_FINITE_VALUES_H_
#define ATTENTION_FINITE_VALUES_H_

#include <cmath>
#include <cstdint>

#include "autodiff/kernels/reduce.h"

namespace regard {

// `x`, or `copy` with what is not finite replaced by 0. Both hold n numbers.
template <typename T>
const T* FiniteValues(const T* x, int64_t n, T* copy) {
  // 0 if all are finite, else NaN.
  const T zero = SumEach<T>(n, [=](int64_t i) { return x[i] * T(0); });
  if (zero == T(0)) return x;
  for (int64_t i = 0; i < n; ++i) copy[i] = std::isfinite(x[i]) ? x[i] : T(0);
  return copy;
}

// Adds to a row of a context what FiniteValues() left out of `values` [keys,
// width]: of the keys whose weight is not 0.
template <typename T>
void AddNonFinite(const T* weights, const T* values, int64_t keys,
                  int64_t width, T* context) {
  for (int64_t k = 0; k < keys; ++k) {
    if (weights[k] == T(0)) continue;
    const T* value = values + k * width;
    for (int64_t j = 0; j < width; ++j) {
      if (!std::isfinite(value[j])) context[j] += weights[k] * value[j];
    }
  }
}

}  // namespace regard

#endif  // ATTENTION_FINITE_VALUES_H_
