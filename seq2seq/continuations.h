// The likeliest continuations of the hypotheses of a sentence.
#ifndef SEQ2SEQ_CONTINUATIONS_H_
#define SEQ2SEQ_CONTINUATIONS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "autodiff/arena.h"

namespace regard {

// A hypothesis with one more word.
struct Continuation {
  double log_probability;  // natural logarithm, of all its words
  int32_t beam;            // the hypothesis
  int32_t id;              // the word, never <pad> or <bos>
};

// Keeps the best few: those of greatest log probability, of equals that of the
// lower beam and then of the lower id, so that the order is the same
// everywhere.
class BestContinuations {
 public:
  // Keeps at most `most`, in storage of `arena`.
  BestContinuations(int most, int64_t vocabulary, Arena& arena);

  void Clear() { count_ = 0; }

  // Considers each word after hypothesis `beam` of log probability `so_far`;
  // `logits` [vocabulary] are unnormalised log probabilities. Hypotheses come
  // in any order.
  void Add(int32_t beam, double so_far, const float* logits);

  // From the best.
  absl::Span<const Continuation> best() const {
    return {best_, static_cast<size_t>(count_)};
  }

 private:
  bool full() const { return count_ == most_; }
  void Insert(const Continuation& continuation);

  const int most_;
  const int64_t vocabulary_;
  int count_ = 0;
  Continuation* best_;   // [most]
  float* block_maxima_;  // [blocks of words]
};

}  // namespace regard

#endif  // SEQ2SEQ_CONTINUATIONS_H_
