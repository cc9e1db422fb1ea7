// The softmax of attention scores, computed one block of keys at a time (Dao et
// al., "FlashAttention", 2022).
#ifndef ATTENTION_KERNELS_RUNNING_SOFTMAX_H_
#define ATTENTION_KERNELS_RUNNING_SOFTMAX_H_

#include <algorithm>
#include <cstdint>

#include "attention/kernels/attention_blocks.h"
#include "attention/kernels/block_statistics.h"
#include "autodiff/kernels/matrix.h"
#include "autodiff/kernels/reduce.h"
#include "autodiff/kernels/transcendental.h"

namespace regard {

// The running softmax of each row: weights are exp(score - max) / sum. Before
// the first key that a row sees, max is -inf and sum is 0.
template <typename T>
struct RunningSoftmax {
  T* max;
  T* sum;

  RunningSoftmax From(int64_t row) const { return {max + row, sum + row}; }
};

template <typename T>
void ScaleRow(const MutableMatrix<T>& x, int64_t i, T factor) {
  T* __restrict row = x.data + i * x.stride;
  for (int64_t j = 0; j < x.cols; ++j) row[j] *= factor;
}

// Adds a block of scores to the running softmax. Subtracts the new maximum from
// the scores and writes their exponentials to `weights`. Unless this block is
// the `first`, rescales the sums and the context of earlier blocks. A row with
// a sink must start with the sink's logit as the maximum and with a sum of 1.
//
// `weights` may be `scores`. `decay` is scratch memory, one number per row.
// `sums` receives the sum of each row of `weights`. If `statistics` is not
// null, calls its MeasureRows() while the rows are in the first-level cache.
template <typename T>
void AccumulateSoftmax(const QueryBlock& block, bool first, bool sink,
                       int64_t count, T* scores, T* weights,
                       RunningSoftmax<T> rows, T* decay, T* sums,
                       BlockStatistics<T>* statistics,
                       const MutableMatrix<T>& context) {
  constexpr int64_t kRowsAtOnce = 16;
  for (int64_t i = 0; i < block.count; ++i) {
    T* const row = scores + i * count;
    const T old = rows.max[i];
    const T max = std::max(old, MaxRow(row, count));
    const bool empty = max == kMinusInfinity<T>;
    decay[i] = empty ? T(0) : old - max;
    if (empty) continue;
    rows.max[i] = max;
    for (int64_t k = 0; k < count; ++k) row[k] -= max;
  }
  for (int64_t begin = 0; begin < block.count; begin += kRowsAtOnce) {
    const int64_t end = std::min(begin + kRowsAtOnce, block.count);
    const int64_t size = (end - begin) * count;
    Exp(scores + begin * count, weights + begin * count, size);
    for (int64_t i = begin; i < end; ++i) {
      sums[i] = SumRow(weights + i * count, count);
    }
    if (statistics == nullptr) continue;
    statistics->MeasureRows(begin, end, sink, count, scores, weights);
  }
  if (!first || sink) Exp(decay, decay, block.count);
  if (first) {
    for (int64_t i = 0; i < block.count; ++i) {
      rows.sum[i] = sink ? sums[i] + decay[i] : sums[i];
    }
    return;
  }
  for (int64_t i = 0; i < block.count; ++i) {
    rows.sum[i] = rows.sum[i] * decay[i] + sums[i];
    ScaleRow(context, i, decay[i]);
  }
}

// Replaces a block of scores with their weights.
template <typename T>
void NormalizeScores(const QueryBlock& block, int64_t count,
                     RunningSoftmax<T> rows, T* scores) {
  for (int64_t i = 0; i < block.count; ++i) {
    if (rows.sum[i] == T(0)) continue;  // all scores are -inf
    const T max = rows.max[i];
    for (int64_t k = 0; k < count; ++k) scores[i * count + k] -= max;
  }
  Exp(scores, scores, block.count * count);
  for (int64_t i = 0; i < block.count; ++i) {
    if (rows.sum[i] == T(0)) continue;
    const T scale = T(1) / rows.sum[i];
    for (int64_t k = 0; k < count; ++k) scores[i * count + k] *= scale;
  }
}

}  // namespace regard

#endif  // ATTENTION_KERNELS_RUNNING_SOFTMAX_H_
