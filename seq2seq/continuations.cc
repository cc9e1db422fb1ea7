#include "seq2seq/continuations.h"

#include <algorithm>
#include <tuple>

#include "Eigen/Core"
#include "autodiff/kernels/reduce.h"
#include "autodiff/kernels/transcendental.h"
#include "seq2seq/vocabulary.h"

namespace regard {

namespace {

// Words are passed over by blocks: most blocks have no word that is kept.
constexpr int64_t kBlock = 64;
// Words whose probabilities are summed at a time, in the nearest cache.
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

// log(sum(exp(x - max))).
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

BestContinuations::BestContinuations(int most, int64_t vocabulary, Arena& arena)
    : most_(most),
      vocabulary_(vocabulary),
      best_(arena.New<Continuation>(most)),
      block_maxima_(arena.New<float>((vocabulary + kBlock - 1) / kBlock)) {}

void BestContinuations::Insert(const Continuation& continuation) {
  if (!full()) {
    ++count_;
  } else if (!Better(continuation, best_[count_ - 1])) {
    return;
  }
  int at = count_ - 1;
  for (; at > 0 && Better(continuation, best_[at - 1]); --at) {
    best_[at] = best_[at - 1];
  }
  best_[at] = continuation;
}

void BestContinuations::Add(int32_t beam, double so_far, const float* logits) {
  const int64_t whole = vocabulary_ / kBlock;
  for (int64_t i = 0; i < whole; ++i) {
    block_maxima_[i] = MaxOfBlock(logits + i * kBlock);
  }
  int64_t blocks = whole;
  if (whole * kBlock < vocabulary_) {
    block_maxima_[blocks++] =
        MaxRow(logits + whole * kBlock, vocabulary_ - whole * kBlock);
  }
  const float max = MaxRow(block_maxima_, blocks);
  const float log_sum = LogSum(logits, vocabulary_, max);
  // The logarithm of softmax(logits).
  const auto extended = [=](float logit) {
    return so_far + static_cast<double>((logit - max) - log_sum);
  };
  for (int64_t i = 0; i < blocks; ++i) {
    // Rounding keeps order, so no word of a block is better than its largest
    // logit says.
    if (full() &&
        extended(block_maxima_[i]) < best_[count_ - 1].log_probability) {
      continue;
    }
    const int64_t end = std::min((i + 1) * kBlock, vocabulary_);
    for (int64_t id = i * kBlock; id < end; ++id) {
      if (id == Vocabulary::kPad || id == Vocabulary::kBegin) continue;
      Insert({extended(logits[id]), beam, static_cast<int32_t>(id)});
    }
  }
}

}  // namespace regard
