#include "autodiff/ops/softmax.h"

#include <cstdint>

#include "autodiff/kernels/reduce.h"
#include "autodiff/kernels/transcendental.h"
#include "autodiff/tape.h"

namespace regard {

namespace {

// y = x less the maximum of its row.
template <typename T>
void SubtractMax(const T* x, T* __restrict y, int64_t rows, int64_t cols) {
  for (int64_t i = 0; i < rows; ++i) {
    const T* x_row = x + i * cols;
    T* __restrict y_row = y + i * cols;
    const T max = MaxRow(x_row, cols);
    for (int64_t j = 0; j < cols; ++j) y_row[j] = x_row[j] - max;
  }
}

}  // namespace

template <typename T>
Var<T> Softmax(Var<T> x) {
  Tape<T>& tape = x.tape();
  Var<T> y = tape.New(x.shape(), x.needs_grad());
  const int64_t rows = x.rows();
  const int64_t cols = x.cols();
  SubtractMax(x.data(), y.data(), rows, cols);
  Exp(y.data(), y.data(), y.size());
  for (int64_t i = 0; i < rows; ++i) {
    T* __restrict y_row = y.data() + i * cols;
    const T scale = T(1) / SumRow<T>(y_row, cols);
    for (int64_t j = 0; j < cols; ++j) y_row[j] *= scale;
  }
  tape.Record("Softmax", y, [=] {
    auto d = x.grad_ref();
    if (!d) return;
    const bool accumulate = d.MarkTouched();
    // d x = y (g - sum(g y)).
    for (int64_t i = 0; i < rows; ++i) {
      const T* g = y.grad_data() + i * cols;
      const T* y_row = y.data() + i * cols;
      const T mean = DotRow(g, y_row, cols);
      AddOrAssign(accumulate, cols, d.data() + i * cols,
                  [=](int64_t j) { return y_row[j] * (g[j] - mean); });
    }
  });
  return y;
}

template <typename T>
Var<T> LogSoftmax(Var<T> x) {
  Tape<T>& tape = x.tape();
  Var<T> y = tape.New(x.shape(), x.needs_grad());
  const int64_t rows = x.rows();
  const int64_t cols = x.cols();
  SubtractMax(x.data(), y.data(), rows, cols);
  {
    ScratchScope<T> scratch(tape);
    T* const exp = scratch.New(y.size());
    T* const log_sum = scratch.New(rows);
    Exp(y.data(), exp, y.size());
    for (int64_t i = 0; i < rows; ++i)
      log_sum[i] = SumRow(exp + i * cols, cols);
    Log(log_sum, log_sum, rows);
    for (int64_t i = 0; i < rows; ++i) {
      T* __restrict y_row = y.data() + i * cols;
      for (int64_t j = 0; j < cols; ++j) y_row[j] -= log_sum[i];
    }
  }
  tape.Record("LogSoftmax", y, [=] {
    auto d = x.grad_ref();
    if (!d) return;
    ScratchScope<T> scratch(y.tape());
    T* const softmax = scratch.New(y.size());
    Exp(y.data(), softmax, y.size());
    const bool accumulate = d.MarkTouched();
    // d x = g - softmax(x) sum(g).
    for (int64_t i = 0; i < rows; ++i) {
      const T* g = y.grad_data() + i * cols;
      const T* p = softmax + i * cols;
      const T sum = SumRow(g, cols);
      AddOrAssign(accumulate, cols, d.data() + i * cols,
                  [=](int64_t j) { return g[j] - p[j] * sum; });
    }
  });
  return y;
}

REGARD_INSTANTIATE_FUNCTION(Softmax);
REGARD_INSTANTIATE_FUNCTION(LogSoftmax);

}  // namespace regard
