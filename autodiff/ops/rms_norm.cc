#include "autodiff/ops/rms_norm.h"

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "autodiff/kernels/reduce.h"
#include "autodiff/tape.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

template <typename T>
Var<T> RmsNorm(Var<T> x, Var<T> gain, std::type_identity_t<T> epsilon) {
  const int64_t rows = x.rows();
  const int64_t cols = x.cols();
  REGARD_CHECK(x.shape().rank() >= 1 && gain.shape() == Shape({cols}))
      << "RmsNorm of " << x.shape() << " with gain " << gain.shape();
  Tape<T>& tape = x.tape();
  Var<T> y = tape.New(x.shape(), x.needs_grad() || gain.needs_grad());
  // Of each row, kept for the gradient.
  T* const scales = tape.arena().template New<T>(rows);
  for (int64_t i = 0; i < rows; ++i) {
    const T* x_row = x.data() + i * cols;
    const T* gain_row = gain.data();
    T* __restrict y_row = y.data() + i * cols;
    const T mean_square = DotRow(x_row, x_row, cols) / static_cast<T>(cols);
    const T scale = T(1) / std::sqrt(mean_square + epsilon);
    for (int64_t j = 0; j < cols; ++j) {
      y_row[j] = x_row[j] * scale * gain_row[j];
    }
    scales[i] = scale;
  }
  tape.Record("RmsNorm", y, [=] {
    // With n = x * scale and h = g gain:
    // d x = scale (h - n mean(h n)), d gain = sum of g n.
    if (auto d = x.grad_ref()) {
      const bool accumulate = d.Begin();
      const T* gain_row = gain.data();
      for (int64_t i = 0; i < rows; ++i) {
        const T* g = y.grad_data() + i * cols;
        const T* x_row = x.data() + i * cols;
        T* __restrict dx = d.data() + i * cols;
        const T scale = scales[i];
        const auto hn = [=](auto g, auto gain, auto x) {
          return g * gain * (x * scale);
        };
        const T mean_hn =
            SumEach<T>(cols, hn, g, gain_row, x_row) / static_cast<T>(cols);
        const auto term = [=](int64_t j) {
          return scale * (g[j] * gain_row[j] - x_row[j] * scale * mean_hn);
        };
        if (accumulate) {
          for (int64_t j = 0; j < cols; ++j) dx[j] += term(j);
        } else {
          for (int64_t j = 0; j < cols; ++j) dx[j] = term(j);
        }
      }
    }
    if (auto d = gain.grad_ref()) {
      T* __restrict d_gain = d.BeginPartial();
      for (int64_t i = 0; i < rows; ++i) {
        const T* g = y.grad_data() + i * cols;
        const T* x_row = x.data() + i * cols;
        const T scale = scales[i];
        for (int64_t j = 0; j < cols; ++j) {
          d_gain[j] += g[j] * (x_row[j] * scale);
        }
      }
    }
  });
  return y;
}

REGARD_INSTANTIATE_FUNCTION(RmsNorm);

}  // namespace regard
