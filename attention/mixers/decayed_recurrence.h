// The recurrence of linear attention with a decay, computed in chunks.
//
//   S_t = diag(exp(g_t)) S_{t-1} + k_t v_t^T,   o_t = S_t^T q_t.
//
// Within a chunk of 64 positions, o is the product of DecayedProducts() and the
// values, plus a term for the state before the chunk. Time and memory are
// linear in the number of positions. Only the states between chunks are stored
// for the backward pass. Sun et al., "Retentive network", 2023, section 2.1;
// Yang et al., "Gated linear attention transformers with hardware-efficient
// training", 2024; Dao and Gu, "Transformers are SSMs", 2024, section 6.
#ifndef ATTENTION_MIXERS_DECAYED_RECURRENCE_H_
#define ATTENTION_MIXERS_DECAYED_RECURRENCE_H_

#include "autodiff/tape.h"

namespace regard {

template <typename T>
struct DecayedInputs {
  Var<T> queries;  // [batch, heads, time, key width]
  Var<T> keys;     // [batch, heads, time, key width]
  Var<T> values;   // [batch, heads, time, value width]
  // The logarithm of the decay, [batch, heads, time, 1 or key width]. Finite
  // and at most 0. If empty, there is no decay.
  Var<T> log_decay = {};
  // The state before the first position, [batch, heads, key width, value
  // width]. If empty, the state is 0.
  Var<T> state = {};
};

template <typename T>
struct DecayedOutputs {
  Var<T> outputs;  // [batch, heads, time, value width]
  Var<T> state;    // the state after the last position
};

// Computes all positions. Later positions do not change any bit of an output.
template <typename T>
DecayedOutputs<T> DecayedRecurrence(const DecayedInputs<T>& inputs);

// Computes one position (time = 1), directly from the formula.
template <typename T>
DecayedOutputs<T> DecayedStep(const DecayedInputs<T>& inputs);

}  // namespace regard

#endif  // ATTENTION_MIXERS_DECAYED_RECURRENCE_H_
