// Matrix products that ignore NaN and infinities in masked keys and values. A
// weight of 0 is not enough, because 0 times NaN is NaN.
#ifndef ATTENTION_KERNELS_FINITE_VALUES_H_
#define ATTENTION_KERNELS_FINITE_VALUES_H_

#include <cmath>
#include <cstdint>

#include "autodiff/kernels/gemm.h"
#include "autodiff/kernels/reduce.h"
#include "autodiff/tape.h"

namespace regard {

template <typename T>
bool AllFinite(const T* x, int64_t n) {
  // The sum is 0 if all numbers are finite. If not, the sum is NaN.
  return SumEach<T>(
             n, [](auto x) { return x * T(0); }, x) == T(0);
}

// Returns `x` if all of its n numbers are finite. Otherwise, returns `copy`
// [n], with 0 in place of the numbers that are not finite.
template <typename T>
const T* FiniteValues(const T* x, int64_t n, T* copy) {
  if (AllFinite(x, n)) return x;
  for (int64_t i = 0; i < n; ++i) copy[i] = std::isfinite(x[i]) ? x[i] : T(0);
  return copy;
}

// Adds weights[k] * values[k] to a row of a context, but only for elements of
// `values` [keys, width] that are not finite. Keys of weight 0 are skipped.
template <typename T>
void AddNonFinite(const T* weights, const ConstMatrix<T>& values, T* context) {
  for (int64_t k = 0; k < values.rows; ++k) {
    if (weights[k] == T(0)) continue;
    const T* value = values.data + k * values.stride;
    for (int64_t j = 0; j < values.cols; ++j) {
      if (!std::isfinite(value[j])) context[j] += weights[k] * value[j];
    }
  }
}

// Computes context [queries, width] = weights [queries, keys] * values [keys,
// width], ignoring values of weight 0. The rows of weights and values are
// contiguous. A non-finite value makes the context non-finite. If the context
// is finite, checking it is therefore the only extra cost.
template <typename T>
void MultiplyValues(Tape<T>& tape, ConstMatrix<T> weights, const T* values,
                    int64_t width, T* context) {
  const ProductPrecision precision = tape.precision();
  const int64_t keys = weights.cols;
  const auto product = [&](const T* x) {
    Gemm(weights, ConstMatrix<T>(x, keys, width),
         MutableMatrix<T>(context, weights.rows, width), GemmMode::kAssign,
         T(1), precision);
  };
  product(values);
  if (AllFinite(context, weights.rows * width)) return;
  ScratchScope<T> scratch(tape);
  const int64_t size = keys * width;
  const T* const finite = FiniteValues(values, size, scratch.New(size));
  if (finite == values) return;
  product(finite);
  for (int64_t q = 0; q < weights.rows; ++q) {
    AddNonFinite(weights.data + q * weights.stride,
                 ConstMatrix<T>(values, keys, width), context + q * width);
  }
}

}  // namespace regard

#endif  // ATTENTION_KERNELS_FINITE_VALUES_H_
