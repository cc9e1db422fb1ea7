// How much of each input token reaches each output token through all layers.
#ifndef ATTENTION_INSPECTION_ATTENTION_ROLLOUT_H_
#define ATTENTION_INSPECTION_ATTENTION_ROLLOUT_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "attention/inspection/attention_maps.h"

namespace regard {

// Attention rollout (Abnar and Zuidema, "Quantifying attention flow in
// transformers", 2020): the product over the layers of (A + I) / 2, A the
// layer's self-attention of example `example`, averaged over heads. [tokens,
// tokens], row-major; rows sum to 1 if those of the weights do.
template <typename T>
std::vector<double> AttentionRollout(absl::Span<const AttentionMap<T>> layers,
                                     int64_t example);

// `readout`, a row of shares of the output tokens, times that product:
// [tokens]. Without the product, whose work is cubic in the tokens.
template <typename T>
std::vector<double> AttentionRolloutTo(std::vector<double> readout,
                                       absl::Span<const AttentionMap<T>> layers,
                                       int64_t example);

}  // namespace regard

#endif  // ATTENTION_INSPECTION_ATTENTION_ROLLOUT_H_
