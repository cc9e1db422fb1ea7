// Turns scores into weights with any normalizer, over the keys that a mask
// leaves visible.
//
// Masked keys and scores of -inf have weights of exactly 0, with gradients of
// 0. A row without a visible key has zero weights and gradients. Masked scores
// and gradients are ignored and may be NaN.
#ifndef ATTENTION_KERNELS_MASKED_NORMALIZE_H_
#define ATTENTION_KERNELS_MASKED_NORMALIZE_H_

#include "attention/kernels/distance_bias.h"
#include "attention/mask.h"
#include "attention/normalizer.h"
#include "attention/positions.h"
#include "autodiff/tape.h"

namespace regard {

// Terms of each head that affect the weights of its rows.
template <typename T>
struct HeadNormalizerInputs {
  // Added to the scores.
  DistanceBias<T> bias = {};
  // [heads]. The score of an additional key in each row. The weight of this key
  // is left out.
  Var<T> sink = {};
  // [heads, count], from Normalizer::Parameters().
  Var<T> parameters = {};
};

// Returns the weights of `scores`. Both have the shape [batch, heads, queries,
// keys]. The normalizer must live as long as the tape's step. For softmax
// without a sink, MaskedSoftmax() is faster.
template <typename T>
Var<T> MaskedNormalize(Var<T> scores, const Normalizer<T>& normalizer,
                       const Mask& mask, const Positions& positions = {},
                       const HeadNormalizerInputs<T>& terms = {});

}  // namespace regard

#endif  // ATTENTION_KERNELS_MASKED_NORMALIZE_H_
