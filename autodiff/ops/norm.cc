#include "autodiff/ops/norm.h"

#include <cmath>
#include <cstdint>

#include "autodiff/kernels/reduce.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

// Normalizes each row. If kCenter is false, the mean is not subtracted. The
// bias may be empty.
template <bool kCenter, typename T>
Var<T> Norm(const char* name, Var<T> x, Var<T> gain, Var<T> bias, T epsilon) {
  const int64_t rows = x.rows();
  const int64_t cols = x.cols();
  const bool biased = bias.has_value();
  REGARD_CHECK(x.shape().rank() >= 1 && gain.shape() == Shape({cols}) &&
               (!biased || bias.shape() == Shape({cols})))
      << name << " of " << x.shape() << " with gain " << gain.shape()
      << " and bias " << (biased ? bias.shape() : Shape({cols}));
  Tape<T>& tape = TapeOf(name, x, gain);
  if (biased) CheckOperand(name, tape, bias);
  Var<T> y = tape.New(x.shape(), x.needs_grad() || gain.needs_grad() ||
                                     (biased && bias.needs_grad()));
  const auto less_mean = [](auto x, T mean) {
    if constexpr (kCenter) return x - mean;
    return x;
  };
  // The statistics of each row, kept for the gradient.
  T* const means = tape.arena().template New<T>(rows);
  T* const scales = tape.arena().template New<T>(rows);
  for (int64_t i = 0; i < rows; ++i) {
    const T* x_row = x.data() + i * cols;
    const T* gain_row = gain.data();
    const T* bias_row = biased ? bias.data() : nullptr;
    T* __restrict y_row = y.data() + i * cols;
    const T mean = kCenter ? SumRow(x_row, cols) / static_cast<T>(cols) : T(0);
    const auto squared = [=](auto x) {
      return less_mean(x, mean) * less_mean(x, mean);
    };
    const T variance = SumEach<T>(cols, squared, x_row) / static_cast<T>(cols);
    const T scale = T(1) / std::sqrt(variance + epsilon);
    const auto scaled = [=](int64_t j) {
      return less_mean(x_row[j], mean) * scale * gain_row[j];
    };
    if (biased) {
      for (int64_t j = 0; j < cols; ++j) y_row[j] = scaled(j) + bias_row[j];
    } else {
      for (int64_t j = 0; j < cols; ++j) y_row[j] = scaled(j);
    }
    means[i] = mean;
    scales[i] = scale;
  }
  tape.Record(name, y, [=] {
    // With n = (x - mean) * scale and h = g gain: d x = scale (h - mean(h) - n
    // mean(h n)), d gain = sum of g n. If kCenter is false, the term mean(h) is
    // omitted.
    auto d_x = x.grad_ref();
    const bool accumulate = d_x && d_x.BeginContribution();
    T* const d_gain = GradToAddTo(gain);
    T* const d_bias = GradToAddTo(bias);
    for (int64_t i = 0; i < rows; ++i) {
      const T* g = y.grad_data() + i * cols;
      const T* x_row = x.data() + i * cols;
      const T mean = means[i];
      const T scale = scales[i];
      if (d_x) {
        const T* gain_row = gain.data();
        const T mean_h =
            kCenter ? DotRow(g, gain_row, cols) / static_cast<T>(cols) : T(0);
        const auto hn = [=](auto g, auto gain, auto x) {
          return g * gain * (less_mean(x, mean) * scale);
        };
        const T mean_hn =
            SumEach<T>(cols, hn, g, gain_row, x_row) / static_cast<T>(cols);
        AddOrAssign(accumulate, cols, d_x.data() + i * cols, [=](int64_t j) {
          const T h = less_mean(g[j] * gain_row[j], mean_h);
          return scale * (h - less_mean(x_row[j], mean) * scale * mean_hn);
        });
      }
      if (d_gain != nullptr) {
        AddOrAssign(/*accumulate=*/true, cols, d_gain, [=](int64_t j) {
          return g[j] * (less_mean(x_row[j], mean) * scale);
        });
      }
      if (d_bias != nullptr) {
        AddOrAssign(/*accumulate=*/true, cols, d_bias,
                    [=](int64_t j) { return g[j]; });
      }
    }
  });
  return y;
}

}  // namespace

template <typename T>
Var<T> LayerNorm(Var<T> x, Var<T> gain, Var<T> bias,
                 std::type_identity_t<T> epsilon) {
  return Norm</*kCenter=*/true, T>("LayerNorm", x, gain, bias, epsilon);
}

template <typename T>
Var<T> RmsNorm(Var<T> x, Var<T> gain, std::type_identity_t<T> epsilon) {
  return Norm</*kCenter=*/false, T>("RmsNorm", x, gain, Var<T>(), epsilon);
}

REGARD_INSTANTIATE_FUNCTION(LayerNorm);
REGARD_INSTANTIATE_FUNCTION(RmsNorm);

}  // namespace regard
