#include "autodiff/ops/loss.h"

#include <algorithm>
#include <array>

#include "autodiff/kernels/gemm.h"
#include "autodiff/kernels/reduce.h"
#include "autodiff/kernels/transcendental.h"
#include "autodiff/ops/leaf_products.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

// Enough rows for fast products. Each block reads and writes the gradient of
// the weight once, so larger blocks save memory traffic.
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

// Returns the loss of one row of logits x. Sets exponentials[j] to
// exp(x[j] - max) and *sum to their sum. `exponentials` may be x.
template <typename T>
T RowLoss(const T* x, int32_t target, int64_t cols,
          const CrossEntropyOptions& options, T* exponentials, T* sum) {
  const T smoothing = static_cast<T>(options.label_smoothing);
  const T max = MaxRow(x, cols);
  const T wanted = x[target];
  const T mean = smoothing > 0 ? SumRow(x, cols) / static_cast<T>(cols) : T(0);
  *sum = ExpAndSum(x, max, cols, exponentials);
  T log_sum;
  Log(sum, &log_sum, 1);
  log_sum += max;
  return (T(1) - smoothing) * (log_sum - wanted) + smoothing * (log_sum - mean);
}

// Replaces the exponentials of RowLoss() with the gradient of the loss: the
// softmax minus the smoothed target. Also adds the gradient to `total` unless
// `total` is null.
template <typename T>
void RowGradient(int32_t target, int64_t cols,
                 const CrossEntropyOptions& options, T sum,
                 T* __restrict exponentials, T* __restrict total) {
  const T smoothing = static_cast<T>(options.label_smoothing);
  const T spread = smoothing / static_cast<T>(cols);
  const T scale = T(1) / sum;
  const T before = total == nullptr ? T(0) : total[target];
  for (int64_t j = 0; j < cols; ++j) {
    exponentials[j] = exponentials[j] * scale - spread;
    if (total != nullptr) total[j] += exponentials[j];
  }
  exponentials[target] -= T(1) - smoothing;
  if (total != nullptr) total[target] = before + exponentials[target];
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
  {
    ScratchScope<T> scratch(tape);
    T* const losses = scratch.New(rows);
    T* const exponentials = scratch.New(cols);
    T sum;
    for (int64_t i = 0; i < rows; ++i) {
      losses[i] = kept[i] == options.ignore_id
                      ? T(0)
                      : RowLoss<T>(logits.data() + i * cols, kept[i], cols,
                                   options, exponentials, &sum);
    }
    *y.data() = SumRow<T>(losses, rows);
  }
  tape.Record("CrossEntropy", y, [=] {
    auto d = logits.grad_ref();
    if (!d) return;
    const T g = *y.grad_data();
    const bool accumulate = d.BeginContribution();
    ScratchScope<T> scratch(y.tape());
    T* const unit = scratch.New(cols);
    T sum;
    for (int64_t i = 0; i < rows; ++i) {
      T* const d_row = d.data() + i * cols;
      if (kept[i] == options.ignore_id) {
        if (!accumulate) std::fill_n(d_row, cols, T(0));
        continue;
      }
      RowLoss<T>(logits.data() + i * cols, kept[i], cols, options, unit, &sum);
      RowGradient<T>(kept[i], cols, options, sum, unit, nullptr);
      AddOrAssign(accumulate, cols, d_row,
                  [=](int64_t j) { return g * unit[j]; });
    }
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
  Tape<T>& tape = TapeOf("LinearCrossEntropy", x, weight);
  if (biased) CheckOperand("LinearCrossEntropy", tape, bias);
  const ProductPrecision precision = tape.precision();
  const bool bias_grad = biased && bias.needs_grad();
  const bool needs_grad = x.needs_grad() || weight.needs_grad() || bias_grad;
  const bool records = needs_grad && tape.recording();
  // Gradients for a unit gradient of the loss, or null if not needed. They are
  // allocated before the loss, so that a backward pass that keeps the loss can
  // release them.
  Arena& arena = tape.arena();
  T* const d_x = records && x.needs_grad() ? arena.New<T>(x.size()) : nullptr;
  T* const d_weight =
      records && weight.needs_grad() ? arena.New<T>(weight.size()) : nullptr;
  T* const d_bias = records && bias_grad ? arena.New<T>(classes) : nullptr;
  if (d_bias != nullptr) std::fill_n(d_bias, classes, T(0));
  Var<T> y = tape.New({}, needs_grad);
  {
    ScratchScope<T> scratch(tape);
    T* const losses = scratch.New(rows);
    const int64_t most = std::min(rows, kRowsPerBlock);
    T* const logits = scratch.New(most * classes);
    T* const copied = scratch.New(most * in);
    std::array<int64_t, kRowsPerBlock> counted;
    const WeightPart<T> part(weight);
    const int64_t products = rows / kRowsPerBlock + 1;
    // In full precision, products pack the weight again. They have enough rows
    // to make this cheap.
    ConstMatrix<T> w = part.matrix();
    ConstMatrix<T> w_transposed = w.Transposed();
    if (Rounds<T>(precision)) {
      w_transposed =
          TransposedForProducts(part, kRowsPerBlock, products, precision);
      if (d_x != nullptr) w = PartForProducts(part, products, precision);
    }
    GemmMode d_weight_mode = GemmMode::kAssign;
    for (int64_t begin = 0; begin < rows; begin += kRowsPerBlock) {
      const int64_t end = std::min(rows, begin + kRowsPerBlock);
      int64_t count = 0;
      for (int64_t row = begin; row < end; ++row) {
        losses[row] = T(0);
        if (targets[row] != options.ignore_id) counted[count++] = row;
      }
      // Only rows that are not ignored take part in products.
      const bool all = count == end - begin;
      for (int64_t i = 0; i < count && !all; ++i) {
        std::copy_n(x.data() + counted[i] * in, in, copied + i * in);
      }
      const ConstMatrix<T> x_block(all ? x.data() + begin * in : copied, count,
                                   in);
      if (biased) {
        GemmPlus<T>(x_block, w_transposed,
                    ConstMatrix<T>::Repeated(bias.data(), count, classes),
                    {logits, count, classes}, precision);
      } else {
        Gemm<T>(x_block, w_transposed, {logits, count, classes},
                GemmMode::kAssign, T(1), precision);
      }
      for (int64_t i = 0; i < count; ++i) {
        T* const row = logits + i * classes;
        const int32_t target = targets[counted[i]];
        T sum;
        losses[counted[i]] =
            RowLoss<T>(row, target, classes, options, row, &sum);
        if (!records) continue;
        RowGradient<T>(target, classes, options, sum, row, d_bias);
      }
      if (!records) continue;
      const ConstMatrix<T> d_logits(logits, count, classes);
      if (d_weight != nullptr && count > 0) {
        Gemm<T>(d_logits.Transposed(), x_block, {d_weight, classes, in},
                d_weight_mode, T(1), precision);
        d_weight_mode = GemmMode::kAdd;
      }
      if (d_x == nullptr) continue;
      T* const d_block = d_x + begin * in;
      if (all) {
        Gemm<T>(d_logits, w, {d_block, count, in}, GemmMode::kAssign, T(1),
                precision);
        continue;
      }
      Gemm<T>(d_logits, w, {copied, count, in}, GemmMode::kAssign, T(1),
              precision);
      std::fill_n(d_block, (end - begin) * in, T(0));
      for (int64_t i = 0; i < count; ++i) {
        std::copy_n(copied + i * in, in, d_x + counted[i] * in);
      }
    }
    if (d_weight != nullptr && d_weight_mode == GemmMode::kAssign) {
      std::fill_n(d_weight, weight.size(), T(0));
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
  REGARD_CHECK_EQ(a.shape(), b.shape()) << "shapes in SquaredError";
  Tape<T>& tape = TapeOf("SquaredError", a, b);
  Var<T> y = tape.New({}, a.needs_grad() || b.needs_grad());
  const T* a_data = a.data();
  const T* b_data = b.data();
  *y.data() = SumEach<T>(
      a.size(), [](auto a, auto b) { return (a - b) * (a - b); }, a_data,
      b_data);
  tape.Record("SquaredError", y, [=] {
    const T g = T(2) * *y.grad_data();
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

REGARD_INSTANTIATE_FUNCTION(CrossEntropy);
REGARD_INSTANTIATE_FUNCTION(LinearCrossEntropy);
REGARD_INSTANTIATE_FUNCTION(SquaredError);

}  // namespace regard
