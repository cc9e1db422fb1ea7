// Recurrent operations over whole sequences, fused: gated recurrent units (GRU)
// and long short-term memories (LSTM). A single step is a sequence of length 1.
#ifndef AUTODIFF_RECURRENT_RECURRENT_H_
#define AUTODIFF_RECURRENT_RECURRENT_H_

#include <array>
#include <cstdint>

#include "absl/types/span.h"
#include "autodiff/tape.h"

namespace regard {

inline constexpr int kMaxRecurrentStates = 2;

// The state that a cell passes from step to step: its output h, and the cell
// state c if the cell has one. Each part is [batch, width]. Unused parts are
// empty.
template <typename T>
using CellState = std::array<Var<T>, kMaxRecurrentStates>;

template <typename T>
struct RecurrentSequenceOperands {
  Var<T> projected;      // [batch, time, gates * width]: W_ih x + b_ih
  Var<T> weight_hh;      // [gates * width, width]
  Var<T> bias_hh;        // [gates * width], or empty
  CellState<T> initial;  // before the first step
  // [batch], each in 0 .. time. Empty if all lengths are `time`.
  absl::Span<const int32_t> lengths = {};
  bool reverse = false;  // reads each sequence from its own end to its start
};

template <typename T>
struct RecurrentSequenceOutputs {
  Var<T> sequence;           // h [batch, time, width], 0 in padding
  CellState<T> final_state;  // after the last step of each sequence
};

enum class GruForm { kResetBefore, kResetAfter };

// The gated recurrent unit over a sequence:
//
//   r  = sigmoid(x_r + W_r s + b_r)
//   z  = sigmoid(x_z + W_z s + b_z)
//   n  = tanh(x_n + W_n (r * s) + b_n)      reset_before: Cho et al. 2014
//   n  = tanh(x_n + r * (W_n s + b_n))      reset_after: PyTorch, cuDNN
//   s' = z * s + (1 - z) * n
//
// x is the projected input with its bias. Gates are stacked in the order r, z,
// n. bias_hh must be present for kResetAfter, and absent for kResetBefore.
template <typename T>
RecurrentSequenceOutputs<T> GruSequence(
    const RecurrentSequenceOperands<T>& inputs, GruForm form);

// The long short-term memory over a sequence:
//
//   i, f, o = sigmoid(x + W h + b), g = tanh(x + W h + b)
//   c' = f * c + i * g
//   h' = o * tanh(c')
//
// Gates are stacked in the order i, f, g, o. The states are h and c. bias_hh
// may be empty.
template <typename T>
RecurrentSequenceOutputs<T> LstmSequence(
    const RecurrentSequenceOperands<T>& inputs);

}  // namespace regard

#endif  // AUTODIFF_RECURRENT_RECURRENT_H_
