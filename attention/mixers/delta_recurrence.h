// The recurrence of the delta rule with a decay, computed in chunks.
//
//   S_t = (I - b_t k_t k_t^T) diag(exp(g_t)) S_{t-1} + b_t k_t v_t^T,
//   o_t = S_t^T q_t.
//
// A position replaces the fraction b_t of the value that the decayed state
// stores for its key. This adds the outer product of k_t and u_t to the state,
// where
//
//   u_t = b_t (v_t - (diag(exp(g_t)) S_{t-1})^T k_t).
//
// Therefore, o equals the outputs of DecayedRecurrence() with the values u. In
// a chunk of 64 positions that begins with the state S, u solves
//
//   (I + diag(b) L) u = diag(b) (v - K S).
//
// L is the part below the diagonal of DecayedProducts() of the keys with
// themselves. The rows of K are the keys times the decay since the start of the
// chunk. This is the UT transform of a product of Householder matrices in WY
// form. Yang et al., "Parallelizing linear transformers with the delta rule
// over sequence length", 2024; "Gated delta networks", 2025. Kimi team, "Kimi
// linear", 2025.
#ifndef ATTENTION_MIXERS_DELTA_RECURRENCE_H_
#define ATTENTION_MIXERS_DELTA_RECURRENCE_H_

#include "attention/mixers/decayed_recurrence.h"
#include "autodiff/tape.h"

namespace regard {

template <typename T>
struct DeltaInputs {
  DecayedInputs<T> decayed;  // queries, keys, values, decay and state
  Var<T> rates;              // b, [batch, heads, time, 1]
};

// Computes all positions. Time and memory are linear in the number of
// positions. Only the states between chunks are stored for the backward pass.
// Later positions do not change any bit of an output.
template <typename T>
DecayedOutputs<T> DeltaRecurrence(const DeltaInputs<T>& inputs);

// Computes one position (time = 1), directly from the formula.
template <typename T>
DecayedOutputs<T> DeltaStep(const DeltaInputs<T>& inputs);

// Returns the matrix M [batch, heads, time, time] with o = M v, for an initial
// state of 0. The time is cubic in the number of positions.
template <typename T>
Var<T> DeltaMatrix(const DeltaInputs<T>& inputs);

}  // namespace regard

#endif  // ATTENTION_MIXERS_DELTA_RECURRENCE_H_
