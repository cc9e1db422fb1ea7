#include "autodiff/ops/softmax.h"

#include <cstdint>

#include "autodiff/kernels/reduce.h"
#include "autodiff/kernels/transcendental.h"

namespace regard {

template <typename T>
Var<T> Softmax(Var<T> x) {
  Tape<T>& tape = x.tape();
  Var<T> y = tape.New(x.shape(), x.needs_grad());
  const int64_t rows = x.rows();
  const int64_t cols = x.cols();
  for (int64_t i = 0; i < rows; ++i) {
    const T* x_row = x.data() + i * cols;
    T* __restrict y_row = y.data() + i * cols;
    const T scale = T(1) / ExpAndSum(x_row, MaxRow(x_row, cols), cols, y_row);
    for (int64_t j = 0; j < cols; ++j) y_row[j] *= scale;
  }
  tape.Record("Softmax", y, [=] {
    auto d = x.grad_ref();
    if (!d) return;
    const bool accumulate = d.BeginContribution();
    // The gradient of x is y * (g - sum(g * y)), where g is the gradient of y.
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
  for (int64_t i = 0; i < rows; ++i) {
    const T* x_row = x.data() + i * cols;
    T* __restrict y_row = y.data() + i * cols;
    const T max = MaxRow(x_row, cols);
    T log_sum = ExpAndSum(x_row, max, cols, y_row);
    Log(&log_sum, &log_sum, 1);
    for (int64_t j = 0; j < cols; ++j) y_row[j] = x_row[j] - max - log_sum;
  }
  tape.Record("LogSoftmax", y, [=] {
    auto d = x.grad_ref();
    if (!d) return;
    ScratchScope<T> scratch(y.tape());
    T* const softmax = scratch.New(y.size());
    Exp(y.data(), softmax, y.size());
    const bool accumulate = d.BeginContribution();
    // The gradient of x is g - softmax(x) * sum(g), where g is the gradient of
    // y.
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
