// Softmax over the keys that a mask leaves visible, and the context of its
// weights.
//
//   weights[b, h, q, k] = exp(score) / sum over visible k of exp(score)
//   context[b, h, q]    = sum over k of weights[b, h, q, k] values[b, g, k]
//
// where g is the value head of head h. Masked weights are exactly 0. A score of
// -inf counts as masked. A row without a visible key has zero weights, zero
// context and zero gradients. Masked scores and values are ignored and may be
// NaN.
#ifndef ATTENTION_KERNELS_MASKED_SOFTMAX_H_
#define ATTENTION_KERNELS_MASKED_SOFTMAX_H_

#include "attention/kernels/distance_bias.h"
#include "attention/mask.h"
#include "attention/positions.h"
#include "autodiff/tape.h"

namespace regard {

// Returns the weights of `scores` plus `bias`. Scores and weights have the
// shape [batch, heads, queries, keys].
template <typename T>
Var<T> MaskedSoftmax(Var<T> scores, const Mask& mask,
                     const Positions& positions = {},
                     const DistanceBias<T>& bias = {});

template <typename T>
struct WeightsAndContext {
  Var<T> weights;  // [batch, heads, queries, keys]
  Var<T> context;  // [batch, heads, queries, value width]
};

// Returns the results of MaskedSoftmax() and WeightedValues(), but reads the
// scores only once if that is faster. The gradient array of the weights may
// lack the part that flows through the context.
template <typename T>
WeightsAndContext<T> MaskedSoftmaxContext(Var<T> scores, const Mask& mask,
                                          Var<T> values,
                                          const Positions& positions = {});

}  // namespace regard

#endif  // ATTENTION_KERNELS_MASKED_SOFTMAX_H_
