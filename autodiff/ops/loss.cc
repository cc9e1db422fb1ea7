#include "autodiff/ops/loss.h"

#include <algorithm>
#include <cstdint>

#include "absl/types/span.h"
#include "autodiff/kernels/gemm.h"
#include "autodiff/kernels/reduce.h"
#include "autodiff/kernels/transcendental.h"
#include "autodiff/tape.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

// Enough rows for the products to be fast, and for the gradient of the weight,
// which every block adds to, to be read and written seldom.
constexpr int64_t kRowsPerBlock = 256;

void CheckTargets(absl::Span<const int32_t> targets, const Shape& logits,
                  int64_t rows, int64_t classes, int32_t ignore_id) {
  REGARD_CHECK_EQ(static_cast<int64_t>(targets.size()), rows)
      << "targets for the rows of " << logits;
  for (const int32_t target : targets) {
    REGARD_CHECK(target == ignore_id || (target >= 0 && target < classes))
        << "target " << target << " among " << classes << " classes";
  }
}

// losses[i] of each row of logits, 0 where ignored. log_sums and scratch have
// one element per row and per logit.
template <typename T>
void RowLosses(const T* logits, const int32_t* targets, int64_t rows,
               int64_t cols, const CrossEntropyOptions& options, T* losses,
               T* log_sums, T* scratch) {
  const T smoothing = static_cast<T>(options.label_smoothing);
  for (int64_t i = 0; i < rows; ++i) {
    const T* x = logits + i * cols;
    T* __restrict shifted = scratch + i * cols;
    const T max = MaxRow(x, cols);
    for (int64_t j = 0; j < cols; ++j) shifted[j] = x[j] - max;
    losses[i] = max;
  }
  Exp(scratch, scratch, rows * cols);
  for (int64_t i = 0; i < rows; ++i) {
    log_sums[i] = SumRow(scratch + i * cols, cols);
  }
  Log(log_sums, log_sums, rows);
  for (int64_t i = 0; i < rows; ++i) {
    log_sums[i] += losses[i];
    losses[i] = T(0);
    if (targets[i] == options.ignore_id) continue;
    const T* x = logits + i * cols;
    losses[i] = (T(1) - smoothing) * (log_sums[i] - x[targets[i]]);
    if (smoothing > 0) {
      const T total = SumEach<T>(
          cols, [=, &log_sums](int64_t j) { return log_sums[i] - x[j]; });
      losses[i] += smoothing / static_cast<T>(cols) * total;
    }
  }
}

// d[i] = softmax(logits[i]) less the smoothed target; zeros where ignored. `d`
// may be `logits`.
template <typename T>
void RowGradients(const T* logits, const int32_t* targets, const T* log_sums,
                  int64_t rows, int64_t cols,
                  const CrossEntropyOptions& options, T* d) {
  const T smoothing = static_cast<T>(options.label_smoothing);
  const T spread = smoothing / static_cast<T>(cols);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < cols; ++j) {
      d[i * cols + j] = logits[i * cols + j] - log_sums[i];
    }
  }
  Exp(d, d, rows * cols);
  for (int64_t i = 0; i < rows; ++i) {
    T* row = d + i * cols;
    if (targets[i] == options.ignore_id) {
      std::fill_n(row, cols, T(0));
      continue;
    }
    for (int64_t j = 0; j < cols; ++j) row[j] -= spread;
    row[targets[i]] -= T(1) - smoothing;
  }
}

template <typename T>
Var<T> ScaledSquaredError(const char* name, Var<T> a, Var<T> b, T scale) {
  REGARD_CHECK_EQ(a.shape(), b.shape()) << "shapes in " << name;
  Tape<T>& tape = a.tape();
  Var<T> y = tape.New({}, a.needs_grad() || b.needs_grad());
  const T* a_data = a.data();
  const T* b_data = b.data();
  *y.data() = scale * SumEach<T>(a.size(), [=](int64_t i) {
                const T difference = a_data[i] - b_data[i];
                return difference * difference;
              });
  tape.Record(name, y, [=] {
    const T g = T(2) * scale * *y.grad_data();
    const T* a_data = a.data();
    const T* b_data = b.data();
    if (auto d = a.grad_ref()) {
      d.AddEach([=](int64_t i) { return g * (a_data[i] - b_data[i]); });
    }
    if (auto d = b.grad_ref()) {
      d.AddEach([=](int64_t i) { return g * (b_data[i] - a_data[i]); });
    }
  });
  return y;
}

}  // namespace

template <typename T>
Var<T> CrossEntropy(Var<T> logits, absl::Span<const int32_t> targets,
                    const CrossEntropyOptions& options) {
  const int64_t rows = logits.rows();
  const int64_t cols = logits.cols();
  CheckTargets(targets, logits.shape(), rows, cols, options.ignore_id);
  Tape<T>& tape = logits.tape();
  Var<T> y = tape.New({}, logits.needs_grad());
  auto* kept = tape.arena().template New<int32_t>(rows);
  std::copy_n(targets.data(), rows, kept);
  T* const log_sums = tape.arena().template New<T>(rows);
  {
    ScratchScope<T> scratch(tape);
    T* const losses = scratch.New(rows);
    RowLosses<T>(logits.data(), kept, rows, cols, options, losses, log_sums,
                 scratch.New(rows * cols));
    *y.data() = SumRow<T>(losses, rows);
  }
  tape.Record("CrossEntropy", y, [=] {
    auto d = logits.grad_ref();
    if (!d) return;
    const T g = *y.grad_data();
    ScratchScope<T> scratch(y.tape());
    T* const unit = scratch.New(rows * cols);
    RowGradients<T>(logits.data(), kept, log_sums, rows, cols, options, unit);
    d.AddEach([=](int64_t i) { return g * unit[i]; });
  });
  return y;
}

template <typename T>
Var<T> LinearCrossEntropy(Var<T> x, Var<T> weight, Var<T> bias,
                          absl::Span<const int32_t> targets,
                          const CrossEntropyOptions& options) {
  REGARD_CHECK(weight.shape().rank() == 2 && weight.dim(1) == x.cols())
      << "LinearCrossEntropy of " << x.shape() << " with weight "
      << weight.shape();
  const int64_t rows = x.rows();
  const int64_t in = x.cols();
  const int64_t classes = weight.dim(0);
  const bool biased = bias.has_value();
  if (biased) {
    REGARD_CHECK_EQ(bias.shape(), Shape({classes}))
        << "bias of LinearCrossEntropy with weight " << weight.shape();
  }
  CheckTargets(targets, x.shape(), rows, classes, options.ignore_id);
  Tape<T>& tape = x.tape();
  const bool bias_grad = biased && bias.needs_grad();
  Var<T> y = tape.New({}, x.needs_grad() || weight.needs_grad() || bias_grad);
  // Gradients for a unit gradient of the loss; null where nobody asks.
  Arena& arena = tape.arena();
  const bool records = y.needs_grad();
  T* const d_x = records && x.needs_grad() ? arena.New<T>(x.size()) : nullptr;
  T* const d_weight =
      records && weight.needs_grad() ? arena.New<T>(weight.size()) : nullptr;
  T* const d_bias = records && bias_grad ? arena.New<T>(classes) : nullptr;
  if (d_weight != nullptr) std::fill_n(d_weight, weight.size(), T(0));
  if (d_bias != nullptr) std::fill_n(d_bias, classes, T(0));
  {
    ScratchScope<T> scratch(tape);
    T* const losses = scratch.New(rows);
    const int64_t most = std::min(rows, kRowsPerBlock);
    T* const logits = scratch.New(most * classes);
    T* const buffer = scratch.New(most * classes);
    T* const log_sums = scratch.New(most);
    const ConstMatrix<T> w(weight.data(), classes, in);
    for (int64_t begin = 0; begin < rows; begin += kRowsPerBlock) {
      const int64_t count = std::min(kRowsPerBlock, rows - begin);
      const ConstMatrix<T> x_block(x.data() + begin * in, count, in);
      const int32_t* target = targets.data() + begin;
      for (int64_t i = 0; biased && i < count; ++i) {
        std::copy_n(bias.data(), classes, logits + i * classes);
      }
      Gemm<T>(x_block, w.Transposed(), {logits, count, classes},
              biased ? GemmMode::kAdd : GemmMode::kAssign);
      RowLosses<T>(logits, target, count, classes, options, losses + begin,
                   log_sums, buffer);
      if (!records) continue;
      RowGradients<T>(logits, target, log_sums, count, classes, options,
                      logits);
      const ConstMatrix<T> d_logits(logits, count, classes);
      if (d_x != nullptr) {
        Gemm<T>(d_logits, w, {d_x + begin * in, count, in});
      }
      if (d_weight != nullptr) {
        Gemm<T>(d_logits.Transposed(), x_block, {d_weight, classes, in},
                GemmMode::kAdd);
      }
      for (int64_t i = 0; d_bias != nullptr && i < count; ++i) {
        const T* row = logits + i * classes;
        for (int64_t j = 0; j < classes; ++j) d_bias[j] += row[j];
      }
    }
    *y.data() = SumRow<T>(losses, rows);
  }
  tape.Record("LinearCrossEntropy", y, [=] {
    const T g = *y.grad_data();
    if (auto d = x.grad_ref()) {
      d.AddEach([=](int64_t i) { return g * d_x[i]; });
    }
    if (auto d = weight.grad_ref()) {
      d.AddEach([=](int64_t i) { return g * d_weight[i]; });
    }
    if (!biased) return;
    if (auto d = bias.grad_ref()) {
      d.AddEach([=](int64_t i) { return g * d_bias[i]; });
    }
  });
  return y;
}

template <typename T>
Var<T> SquaredError(Var<T> a, Var<T> b) {
  return ScaledSquaredError("SquaredError", a, b, T(1));
}

template <typename T>
Var<T> MeanSquaredError(Var<T> a, Var<T> b) {
  REGARD_CHECK(a.size() > 0) << "MeanSquaredError of " << a.shape();
  return ScaledSquaredError("MeanSquaredError", a, b,
                            T(1) / static_cast<T>(a.size()));
}

#define REGARD_INSTANTIATE(T)                                     \
  template Var<T> CrossEntropy(Var<T>, absl::Span<const int32_t>, \
                               const CrossEntropyOptions&);       \
  template Var<T> LinearCrossEntropy(Var<T>, Var<T>, Var<T>,      \
                                     absl::Span<const int32_t>,   \
                                     const CrossEntropyOptions&); \
  template Var<T> SquaredError(Var<T>, Var<T>);                   \
  template Var<T> MeanSquaredError(Var<T>, Var<T>);
REGARD_INSTANTIATE(float)
REGARD_INSTANTIATE(double)
#undef REGARD_INSTANTIATE

}  // namespace regard
