// Recurrent operations over whole sequences, fused: gated recurrent units and
// long short-term memories. One step is a sequence of length 1.
#ifndef AUTODIFF_RECURRENT_RECURRENT_H_
#define AUTODIFF_RECURRENT_RECURRENT_H_

#include <array>
#include <cstdint>

#include "absl/types/span.h"
#include "autodiff/tape.h"

namespace regard {

inline constexpr int kMaxRecurrentStates = 2;

// What a cell carries from step to step, each [batch, width]: its output h and,
// if it has one, the cell state c; empty from there on.
template <typename T>
using CellState = std::array<Var<T>, kMaxRecurrentStates>;

template <typename T>
struct SequenceInputs {
  Var<T> projected;      // [batch, time, gates width]: W_ih x + b_ih
  Var<T> weight_hh;      // [gates width, width]
  Var<T> bias_hh;        // [gates width], or empty
  CellState<T> initial;  // before the first step
  // [batch], each 0 .. time; empty: all are `time`.
  absl::Span<const int32_t> lengths = {};
  bool reverse = false;  // from each sequence's own end to its start
};

template <typename T>
struct SequenceOutputs {
  Var<T> sequence;           // h of each step [batch, time, width]; 0 if padded
  CellState<T> final_state;  // after the last step of each sequence
};

enum class GruForm { kResetBefore, kResetAfter };

//   r  = sigmoid(x_r + W_r s + b_r)
//   z  = sigmoid(x_z + W_z s + b_z)
//   n  = tanh(x_n + W_n (r * s) + b_n)      reset_before: Cho et al. 2014
//   n  = tanh(x_n + r * (W_n s + b_n))      reset_after: PyTorch, cuDNN
//   s' = z * s + (1 - z) * n
//
// x is the projected input with its bias. Gates are stacked r, z, n. bias_hh is
// present if the form is kResetAfter, and only then.
template <typename T>
SequenceOutputs<T> GruSequence(const SequenceInputs<T>& inputs, GruForm form);

//   i, f, o = sigmoid(x + W h + b), g = tanh(x + W h + b)
//   c' = f * c + i * g
//   h' = o * tanh(c')
//
// Gates are stacked i, f, g, o; the states are h and c; bias_hh may be empty.
template <typename T>
SequenceOutputs<T> LstmSequence(const SequenceInputs<T>& inputs);

}  // namespace regard

#endif  // AUTODIFF_RECURRENT_RECURRENT_H_
