// The likeliest continuations of the hypotheses of a sentence.
#ifndef SEQ2SEQ_DECODING_CONTINUATIONS_H_
#define SEQ2SEQ_DECODING_CONTINUATIONS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "autodiff/arena.h"

namespace regard {

// The log-softmax of a row of logits, element by element.
struct LogNormalizer {
  float max = 0;
  float log_sum = 0;  // log(sum(exp(logit - max)))

  float operator()(float logit) const { return (logit - max) - log_sum; }
};
LogNormalizer NormalizerOf(const float* logits, int64_t vocabulary);

// sum[i] = log(exp(sum[i]) + exp(x[i])), also where both exponentials would be
// 0. -inf is the logarithm of 0.
void AddProbabilities(absl::Span<const float> x, absl::Span<float> sum);

// A hypothesis with one more id.
struct Continuation {
  double log_probability;  // natural logarithm, of all its ids
  int32_t beam;            // the hypothesis
  int32_t id;
};

// Keeps the best few: those of greatest log-probability, of equals that of the
// lower beam and then of the lower id, so that the order is the same
// everywhere. A continuation of probability 0 is never kept.
class BestContinuations {
 public:
  // Keeps at most `most`, in storage of `arena`.
  BestContinuations(int64_t most, int64_t vocabulary, Arena& arena);

  // Forgets all. The ids `excluded` are passed over until the next Clear(),
  // and must live as long.
  void Clear(absl::Span<const int32_t> excluded) {
    count_ = 0;
    excluded_ = excluded;
  }

  // Considers each id after hypothesis `beam` of log-probability `so_far`;
  // `logits` [vocabulary] are unnormalised log-probabilities. Hypotheses come
  // in any order.
  void AddLogits(int32_t beam, double so_far, const float* logits);
  // The same of log-probabilities.
  void AddLogProbabilities(int32_t beam, double so_far,
                           const float* log_probabilities);

  // From the best.
  absl::Span<const Continuation> best() const {
    return {best_, static_cast<size_t>(count_)};
  }

 private:
  bool full() const { return count_ == most_; }
  // A log-probability below it is not kept; finite, so that none of
  // probability 0 is.
  double Least() const;
  // Returns the greatest element.
  float FindBlockMaxima(const float* row);
  void AddRow(int32_t beam, double so_far, const float* row,
              const LogNormalizer& normalizer);
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
