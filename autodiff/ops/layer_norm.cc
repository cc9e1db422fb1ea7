#include "autodiff/ops/layer_norm.h"

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "autodiff/kernels/reduce.h"
#include "autodiff/tape.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

template <typename T>
Var<T> LayerNorm(Var<T> x, Var<T> gain, Var<T> bias,
                 std::type_identity_t<T> epsilon) {
  const int64_t rows = x.rows();
  const int64_t cols = x.cols();
  const bool biased = bias.has_value();
  REGARD_CHECK(x.shape().rank() >= 1 && gain.shape() == Shape({cols}) &&
               (!biased || bias.shape() == Shape({cols})))
      << "LayerNorm of " << x.shape() << " with gain " << gain.shape()
      << " and bias " << (biased ? bias.shape() : Shape({cols}));
  Tape<T>& tape = x.tape();
  Var<T> y = tape.New(x.shape(), x.needs_grad() || gain.needs_grad() ||
                                     (biased && bias.needs_grad()));
  // Of each row, kept for the gradient.
  T* const means = tape.arena().template New<T>(rows);
  T* const inverse_deviations = tape.arena().template New<T>(rows);
  for (int64_t i = 0; i < rows; ++i) {
    const T* x_row = x.data() + i * cols;
    const T* gain_row = gain.data();
    const T* bias_row = biased ? bias.data() : nullptr;
    T* __restrict y_row = y.data() + i * cols;
    const T mean = SumRow(x_row, cols) / static_cast<T>(cols);
    const auto squared = [=](auto x) { return (x - mean) * (x - mean); };
    const T variance = SumEach<T>(cols, squared, x_row) / static_cast<T>(cols);
    const T scale = T(1) / std::sqrt(variance + epsilon);
    const auto scaled = [=](int64_t j) {
      return (x_row[j] - mean) * scale * gain_row[j];
    };
    if (biased) {
      for (int64_t j = 0; j < cols; ++j) y_row[j] = scaled(j) + bias_row[j];
    } else {
      for (int64_t j = 0; j < cols; ++j) y_row[j] = scaled(j);
    }
    means[i] = mean;
    inverse_deviations[i] = scale;
  }
  tape.Record("LayerNorm", y, [=] {
    // With n = (x - mean) * scale and h = g gain:
    // d x = scale (h - mean(h) - n mean(h n)), d gain = sum of g n.
    if (auto d = x.grad_ref()) {
      const bool accumulate = d.Begin();
      const T* gain_row = gain.data();
      for (int64_t i = 0; i < rows; ++i) {
        const T* g = y.grad_data() + i * cols;
        const T* x_row = x.data() + i * cols;
        T* __restrict dx = d.data() + i * cols;
        const T mean = means[i];
        const T scale = inverse_deviations[i];
        const T mean_h = DotRow(g, gain_row, cols) / static_cast<T>(cols);
        const auto hn = [=](auto g, auto gain, auto x) {
          return g * gain * ((x - mean) * scale);
        };
        const T mean_hn =
            SumEach<T>(cols, hn, g, gain_row, x_row) / static_cast<T>(cols);
        const auto term = [=](int64_t j) {
          return scale * (g[j] * gain_row[j] - mean_h -
                          (x_row[j] - mean) * scale * mean_hn);
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
        for (int64_t j = 0; j < cols; ++j) {
          d_gain[j] += g[j] * ((x_row[j] - means[i]) * inverse_deviations[i]);
        }
      }
    }
    if (!biased) return;
    if (auto d = bias.grad_ref()) {
      T* __restrict d_bias = d.BeginPartial();
      for (int64_t i = 0; i < rows; ++i) {
        const T* g = y.grad_data() + i * cols;
        for (int64_t j = 0; j < cols; ++j) d_bias[j] += g[j];
      }
    }
  });
  return y;
}

REGARD_INSTANTIATE_FUNCTION(LayerNorm);

}  // namespace regard
