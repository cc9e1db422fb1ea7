// Draws token ids from a model's distribution.
#ifndef SEQ2SEQ_DECODING_SAMPLER_H_
#define SEQ2SEQ_DECODING_SAMPLER_H_

#include <cstdint>

#include "absl/types/span.h"
#include "autodiff/arena.h"

namespace regard {

class SamplingConfig;

class Sampler {
 public:
  // `config` must be valid. Storage comes from `arena`.
  Sampler(const SamplingConfig& config, int64_t vocabulary, Arena& arena);

  // Draws an id from softmax(logits / temperature). Three limits restrict the
  // ids, one after another:
  // * top_k keeps the top_k likeliest ids.
  // * top_p keeps the likeliest ids until their total probability is top_p.
  // * min_p keeps ids with at least min_p times the greatest probability.
  //
  // Ties go to lower ids. `uniform`, in [0, 1), is the random number.
  //
  // Returns -1 if only `excluded` ids have a probability above 0.
  //
  // Cost: O(vocabulary), or O(vocabulary * log(vocabulary)) with top_k or
  // top_p.
  int32_t Draw(const float* logits, absl::Span<const int32_t> excluded,
               double uniform);

 private:
  int32_t* ComputeWeights(const float* logits,
                          absl::Span<const int32_t> excluded);
  // Returns the sum of the weights of ids_ before `end`.
  double MassUpTo(const int32_t* end) const;

  const double temperature_;
  const int64_t top_k_;
  const double top_p_;
  const float min_p_;
  const int64_t vocabulary_;
  int32_t* ids_;    // [vocabulary]: candidates
  float* weights_;  // [vocabulary]: exp((logit - max) / temperature)
};

}  // namespace regard

#endif  // SEQ2SEQ_DECODING_SAMPLER_H_
