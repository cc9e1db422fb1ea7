// Small loops that recurrent operations share.
#ifndef AUTODIFF_OPS_RECURRENT_ROWS_H_
#define AUTODIFF_OPS_RECURRENT_ROWS_H_

#include <algorithm>
#include <cstdint>

#include "autodiff/ops/ragged_steps.h"

namespace regard {

// weight [rows, cols] as [cols, rows] in `out`, which is returned: products of
// few rows are faster against a matrix that is not read across.
template <typename T>
const T* TransposedWeight(const T* weight, int64_t rows, int64_t cols, T* out) {
  for (int64_t i = 0; i < cols; ++i) {
    for (int64_t j = 0; j < rows; ++j) out[i * rows + j] = weight[j * cols + i];
  }
  return out;
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
