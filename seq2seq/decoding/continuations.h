// Finds the likeliest continuations of a sentence's hypotheses without sorting
// the vocabulary.
#ifndef SEQ2SEQ_DECODING_CONTINUATIONS_H_
#define SEQ2SEQ_DECODING_CONTINUATIONS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "autodiff/arena.h"

namespace regard {

// Computes the log-softmax of a row of logits, one element at a time.
struct RowLogSoftmax {
  float max = 0;
  float log_sum = 0;  // log(sum(exp(logit - max)))

  float operator()(float logit) const { return (logit - max) - log_sum; }
};
RowLogSoftmax MakeRowLogSoftmax(const float* logits, int64_t vocabulary);

// Computes sum[i] = log(exp(sum[i]) + exp(x[i])) without underflow. -inf is the
// logarithm of 0.
void AddProbabilities(absl::Span<const float> x, absl::Span<float> sum);

// A hypothesis with one more id.
struct Continuation {
  double log_probability;  // natural logarithm, summed over all ids
  int32_t beam;            // index of the hypothesis
  int32_t id;
};

// Keeps the continuations with the greatest log-probability. Ties go to the
// lower beam, then to the lower id, so that the order is deterministic. A
// continuation of probability 0 is never kept.
class BestContinuations {
 public:
  // Keeps at most `most` continuations. Storage comes from `arena`.
  BestContinuations(int64_t most, int64_t vocabulary, Arena& arena);

  // Drops all continuations. The ids in `excluded` are ignored until the next
  // Clear(), and the span must stay valid until then.
  void Clear(absl::Span<const int32_t> excluded) {
    count_ = 0;
    excluded_ = excluded;
  }

  // Considers each id as the next id of hypothesis `beam`, whose
  // log-probability is `so_far`. `logits` [vocabulary] are unnormalized
  // log-probabilities. Hypotheses may come in any order.
  void AddLogits(int32_t beam, double so_far, const float* logits);
  // Like AddLogits(), for normalized log-probabilities.
  void AddLogProbabilities(int32_t beam, double so_far,
                           const float* log_probabilities);

  // The continuations that are kept, best first.
  absl::Span<const Continuation> best() const {
    return {best_, static_cast<size_t>(count_)};
  }

 private:
  bool full() const { return count_ == most_; }
  // The lowest log-probability that may still be kept. Finite, so that
  // probability 0 never qualifies.
  double MinLogProbabilityToKeep() const;
  // Fills block_maxima_. Returns the greatest element of the row.
  float FindBlockMaxima(const float* row);
  void AddRow(int32_t beam, double so_far, const float* row,
              const RowLogSoftmax& normalizer);
  void Insert(const Continuation& continuation);

  const int64_t most_;
  const int64_t vocabulary_;
  int64_t count_ = 0;
  absl::Span<const int32_t> excluded_;
  Continuation* best_;   // [most]
  float* block_maxima_;  // [blocks of ids]
};

}  // namespace regard

#endif  // SEQ2SEQ_DECODING_CONTINUATIONS_H_
