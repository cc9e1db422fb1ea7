// Small loops that recurrent operations share.
#ifndef AUTODIFF_OPS_RECURRENT_ROWS_H_
#define AUTODIFF_OPS_RECURRENT_ROWS_H_

#include <algorithm>
#include <cstdint>

#include "autodiff/kernels/gemm.h"
#include "autodiff/ops/ragged_steps.h"
#include "autodiff/tape.h"

namespace regard {

// to [cols, rows] = the transpose of from [rows, cols], by squares that fit the
// nearest cache.
template <typename T>
void CopyTransposed(const T* from, int64_t rows, int64_t cols,
                    T* __restrict to) {
  constexpr int64_t kSquare = 16;
  for (int64_t first = 0; first < rows; first += kSquare) {
    const int64_t last = std::min(rows, first + kSquare);
    for (int64_t i = 0; i < cols; ++i) {
      for (int64_t j = first; j < last; ++j)
        to[i * rows + j] = from[j * cols + i];
    }
  }
}

// The transpose of weight [rows, cols] for `steps` products of few rows. They
// are faster against a matrix that is not read across, so for several of them
// it is copied; the bits are the same.
template <typename T>
ConstMatrix<T> TransposedWeight(const T* weight, int64_t rows, int64_t cols,
                                int64_t steps, ScratchScope<T>& scratch) {
  constexpr int64_t kStepsWorthACopy = 4;
  if (steps < kStepsWorthACopy) {
    return ConstMatrix<T>(weight, rows, cols).Transposed();
  }
  T* const out = scratch.New(rows * cols);
  CopyTransposed(weight, rows, cols, out);
  return {out, cols, rows};
}

// Columns first .. first + count - 1.
template <typename T>
ConstMatrix<T> Columns(const ConstMatrix<T>& x, int64_t first, int64_t count) {
  return {x.data + first * (x.transposed ? x.stride : 1), x.rows, count,
          x.stride, x.transposed};
}

// Zeroes the positions of out [batch, time, width] that no step reads.
template <typename T>
void ClearPadding(const RaggedSteps& steps, int64_t width, T* out) {
  for (int64_t b = 0; b < steps.batch(); ++b) {
    std::fill(out + (b * steps.time() + steps.length(b)) * width,
              out + (b + 1) * steps.time() * width, T(0));
  }
}

template <typename T>
void AddOrAssign(const T* from, int64_t n, bool accumulate, T* __restrict to) {
  if (accumulate) {
    for (int64_t i = 0; i < n; ++i) to[i] += from[i];
  } else {
    std::copy_n(from, n, to);
  }
}

// Adds the sum of the rows of x [rows, cols] to out [cols].
template <typename T>
void AddColumnSums(const T* x, int64_t rows, int64_t cols, T* __restrict out) {
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < cols; ++j) out[j] += x[i * cols + j];
  }
}

}  // namespace regard

#endif  // AUTODIFF_OPS_RECURRENT_ROWS_H_
