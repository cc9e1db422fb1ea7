#include "seq2seq/continuations.h"

#include <algorithm>
#include <tuple>

#include "autodiff/kernels/reduce.h"
#include "autodiff/kernels/transcendental.h"
#include "seq2seq/vocabulary.h"

namespace regard {

namespace {

// Words are passed over by blocks: most blocks have no word that is kept.
constexpr int64_t kBlock = 64;

bool Better(const Continuation& a, const Continuation& b) {
  if (a.log_probability != b.log_probability) {
    return a.log_probability > b.log_probability;
  }
  return std::tie(a.beam, a.id) < std::tie(b.beam, b.id);
}

// The largest element of a whole block; folded as a tree, so that blocks do not
// wait for each other.
float MaxOfBlock(const float* x) {
  float lanes[kLanes];
  for (int64_t j = 0; j < kLanes; ++j) lanes[j] = x[j];
  for (int64_t i = kLanes; i < kBlock; i += kLanes) {
    for (int64_t j = 0; j < kLanes; ++j) {
      lanes[j] = x[i + j] > lanes[j] ? x[i + j] : lanes[j];
    }
  }
  for (int64_t half = kLanes / 2; half > 0; half /= 2) {
    for (int64_t j = 0; j < half; ++j) {
      lanes[j] = lanes[j + half] > lanes[j] ? lanes[j + half] : lanes[j];
    }
  }
  return lanes[0];
}

}  // namespace

BestContinuations::BestContinuations(int most, int64_t vocabulary, Arena& arena)
    : most_(most),
      vocabulary_(vocabulary),
      best_(arena.New<Continuation>(most)),
      block_maxima_(arena.New<float>((vocabulary + kBlock - 1) / kBlock)),
      probabilities_(arena.New<float>(vocabulary)) {}

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
  // log softmax = (x - max) - log(sum(exp(x - max))).
  for (int64_t id = 0; id < vocabulary_; ++id) {
    probabilities_[id] = logits[id] - max;
  }
  Exp(probabilities_, probabilities_, vocabulary_);
  float log_sum = SumRow(probabilities_, vocabulary_);
  Log(&log_sum, &log_sum, 1);
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
