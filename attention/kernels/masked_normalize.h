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

// Numbers of each head that its rows are normalised with, besides the scores.
template <typename T>
struct HeadTerms {
  // Added to the scores.
  DistanceBias<T> bias = {};
  // [heads]. Each row is normalised together with its head's number, as the
  // score of one more key, whose weight is left out.
  Var<T> sink = {};
  // [heads, count], from Normalizer::Parameters().
  Var<T> parameters = {};
};

// Weights [batch, heads, queries, keys] of scores of that shape. The normalizer
// lives as long as the tape's step. For softmax without a sink, MaskedSoftmax()
// computes the same faster.
template <typename T>
Var<T> MaskedNormalize(Var<T> scores, const Normalizer<T>& normalizer,
                       const Mask& mask, const Positions& positions = {},
                       const HeadTerms<T>& terms = {});

}  // namespace regard

#endif  // ATTENTION_KERNELS_MASKED_NORMALIZE_H_
