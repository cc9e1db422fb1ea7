// Operands and results of the fused recurrent operations.
#ifndef AUTODIFF_RECURRENT_RECURRENT_SEQUENCE_H_
#define AUTODIFF_RECURRENT_RECURRENT_SEQUENCE_H_

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

}  // namespace regard

#endif  // AUTODIFF_RECURRENT_RECURRENT_SEQUENCE_H_
