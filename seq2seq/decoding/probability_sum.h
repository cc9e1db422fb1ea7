// Sums of probabilities that are given by their logarithms.
#ifndef SEQ2SEQ_DECODING_PROBABILITY_SUM_H_
#define SEQ2SEQ_DECODING_PROBABILITY_SUM_H_

#include "absl/types/span.h"

namespace regard {

// sum[i] = log(exp(sum[i]) + exp(x[i])), also where both exponentials would be
// 0. -inf is the logarithm of 0.
void AddProbabilities(absl::Span<const float> x, absl::Span<float> sum);

}  // namespace regard

#endif  // SEQ2SEQ_DECODING_PROBABILITY_SUM_H_
