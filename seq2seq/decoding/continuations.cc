#include "seq2seq/decoding/continuations.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <tuple>

#include "Eigen/Core"
#include "autodiff/kernels/reduce.h"
#include "autodiff/kernels/transcendental.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

// Ids are skipped in blocks, because most blocks contain no id that is kept.
constexpr int64_t kBlock = 64;
// The number of ids whose probabilities are summed at a time. This many
// probabilities fit in the L1 cache.
constexpr int64_t kChunk = 16 * kBlock;

bool Better(const Continuation& a, const Continuation& b) {
  if (a.log_probability != b.log_probability) {
    return a.log_probability > b.log_probability;
  }
  return std::tie(a.beam, a.id) < std::tie(b.beam, b.id);
}

float MaxOfBlock(const float* x) {
  return Eigen::Map<const Eigen::Array<float, kBlock, 1>>(x).maxCoeff();
}

// Returns log(sum(exp(x - max))).
float LogSum(const float* x, int64_t n, float max) {
  float chunk[kChunk];
  double sum = 0;
  for (int64_t first = 0; first < n; first += kChunk) {
    const int64_t size = std::min(kChunk, n - first);
    sum += static_cast<double>(ExpAndSum(x + first, max, size, chunk));
  }
  auto log_sum = static_cast<float>(sum);
  Log(&log_sum, &log_sum, 1);
  return log_sum;
}

}  // namespace

RowLogSoftmax MakeRowLogSoftmax(const float* logits, int64_t vocabulary) {
  const float max = MaxRow(logits, vocabulary);
  return {max, LogSum(logits, vocabulary, max)};
}

void AddProbabilities(absl::Span<const float> x, absl::Span<float> sum) {
  REGARD_CHECK_EQ(x.size(), sum.size());
  constexpr size_t kChunk = 1024;
  float ratios[kChunk];
  for (size_t first = 0; first < sum.size(); first += kChunk) {
    const size_t size = std::min(kChunk, sum.size() - first);
    const auto n = static_cast<int64_t>(size);
    const absl::Span<const float> a = x.subspan(first, size);
    const absl::Span<float> b = sum.subspan(first, size);
    for (size_t i = 0; i < size; ++i) {
      const auto [low, high] = std::minmax(a[i], b[i]);
      // The difference between -inf and -inf would be NaN.
      ratios[i] = low == high ? 0 : low - high;
      b[i] = high;
    }
    Exp(ratios, ratios, n);
    for (size_t i = 0; i < size; ++i) ratios[i] += 1;
    Log(ratios, ratios, n);
    for (size_t i = 0; i < size; ++i) b[i] += ratios[i];
  }
}

BestContinuations::BestContinuations(int64_t most, int64_t vocabulary,
                                     Arena& arena)
    : most_(most),
      vocabulary_(vocabulary),
      best_(arena.New<Continuation>(most)),
      block_maxima_(arena.New<float>((vocabulary + kBlock - 1) / kBlock)) {}

double BestContinuations::MinLogProbabilityToKeep() const {
  return full() ? best_[count_ - 1].log_probability
                : std::numeric_limits<double>::lowest();
}

void BestContinuations::Insert(const Continuation& continuation) {
  if (!full()) {
    ++count_;
  } else if (!Better(continuation, best_[count_ - 1])) {
    return;
  }
  int64_t at = count_ - 1;
  for (; at > 0 && Better(continuation, best_[at - 1]); --at) {
    best_[at] = best_[at - 1];
  }
  best_[at] = continuation;
}

float BestContinuations::FindBlockMaxima(const float* row) {
  const int64_t whole = vocabulary_ / kBlock;
  for (int64_t i = 0; i < whole; ++i) {
    block_maxima_[i] = MaxOfBlock(row + i * kBlock);
  }
  int64_t blocks = whole;
  if (whole * kBlock < vocabulary_) {
    block_maxima_[blocks++] =
        MaxRow(row + whole * kBlock, vocabulary_ - whole * kBlock);
  }
  return MaxRow(block_maxima_, blocks);
}

void BestContinuations::AddLogits(int32_t beam, double so_far,
                                  const float* logits) {
  const float max = FindBlockMaxima(logits);
  AddRow(beam, so_far, logits, {max, LogSum(logits, vocabulary_, max)});
}

void BestContinuations::AddLogProbabilities(int32_t beam, double so_far,
                                            const float* log_probabilities) {
  FindBlockMaxima(log_probabilities);
  AddRow(beam, so_far, log_probabilities, RowLogSoftmax());
}

void BestContinuations::AddRow(int32_t beam, double so_far, const float* row,
                               const RowLogSoftmax& normalizer) {
  const auto extended = [&](float logit) {
    return so_far + static_cast<double>(normalizer(logit));
  };
  const int64_t blocks = (vocabulary_ + kBlock - 1) / kBlock;
  double least = MinLogProbabilityToKeep();
  for (int64_t i = 0; i < blocks; ++i) {
    // Rounding is monotonic, so no id of a block can be better than the block's
    // largest logit.
    if (extended(block_maxima_[i]) < least) continue;
    const int64_t end = std::min((i + 1) * kBlock, vocabulary_);
    for (int64_t j = i * kBlock; j < end; ++j) {
      const double log_probability = extended(row[j]);
      if (!(log_probability >= least)) continue;
      const auto id = static_cast<int32_t>(j);
      if (std::find(excluded_.begin(), excluded_.end(), id) !=
          excluded_.end()) {
        continue;
      }
      Insert({log_probability, beam, id});
      least = MinLogProbabilityToKeep();
    }
  }
}

}  // namespace regard
