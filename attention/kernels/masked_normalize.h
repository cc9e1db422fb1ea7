// Any normalizer over the keys that a mask leaves visible.
//
// Weights of hidden keys and of scores of -inf are exactly 0, and so are their
// gradients. A row with nothing left has zero weights and gradients. Hidden
// scores and gradients are not read: they may be NaN.
#ifndef ATTENTION_KERNELS_MASKED_NORMALIZE_H_
#define ATTENTION_KERNELS_MASKED_NORMALIZE_H_

#include "attention/kernels/distance_bias.h"
#include "attention/mask.h"
#include "attention/normalizer.h"
#include "attention/positions.h"
#include "autodiff/tape.h"

namespace regard {

// Weights [batch, heads, queries, keys] of scores of that shape plus `bias`.
// With a `sink` [heads], each row is normalised together with its head's
// number, as the score of one more key, whose weight is left out. The
// normalizer lives as long as the tape's step. For softmax without a sink,
// MaskedSoftmax() computes the same faster.
template <typename T>
Var<T> MaskedNormalize(Var<T> scores, const Normalizer<T>& normalizer,
                       const Mask& mask, const Positions& positions = {},
                       const DistanceBias<T>& bias = {}, Var<T> sink = {});

}  // namespace regard

#endif  // ATTENTION_KERNELS_MASKED_NORMALIZE_H_
