// Computes how much of each input token reaches each output token through all
// layers.
#ifndef ATTENTION_INSPECTION_ATTENTION_ROLLOUT_H_
#define ATTENTION_INSPECTION_ATTENTION_ROLLOUT_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "attention/inspection/attention_maps.h"

namespace regard {

// Attention rollout (Abnar and Zuidema, "Quantifying attention flow in
// transformers", 2020). Returns the product of (A + I) / 2 over the layers:
// [tokens, tokens], row-major. A is a layer's self-attention of example
// `example`, averaged over heads. If the rows of the weights sum to 1, the rows
// of the result also sum to 1.
template <typename T>
std::vector<double> AttentionRollout(absl::Span<const AttentionMap<T>> layers,
                                     int64_t example);

// Returns `readout` times the result of AttentionRollout(): [tokens]. `readout`
// has a fraction for each output token. The time is quadratic in the number of
// tokens, because this function does not compute the matrix of
// AttentionRollout().
template <typename T>
std::vector<double> AttentionRolloutTo(std::vector<double> readout,
                                       absl::Span<const AttentionMap<T>> layers,
                                       int64_t example);

}  // namespace regard

#endif  // ATTENTION_INSPECTION_ATTENTION_ROLLOUT_H_
