// A long short-term memory over whole sequences, fused as in
// autodiff/ops/gru.h. Formulas: autodiff/kernels/lstm_cell.h.
#ifndef AUTODIFF_OPS_LSTM_H_
#define AUTODIFF_OPS_LSTM_H_

#include <cstdint>

#include "absl/types/span.h"
#include "autodiff/ops/step_weight.h"
#include "autodiff/tape.h"

namespace regard {

template <typename T>
struct LstmInputs {
  Var<T> projected;      // [batch, time, 4 width]: W_ih x + b_ih
  Var<T> weight_hh;      // [4 width, width], gates stacked i, f, g, o
  Var<T> bias_hh;        // [4 width]; may be empty
  Var<T> initial_state;  // h [batch, width]
  Var<T> initial_cell;   // c [batch, width]
  // [batch], each 0 .. time; empty: all are `time`.
  absl::Span<const int32_t> lengths;
  bool reverse = false;  // from each sequence's own end to its start
  // weight_hh, where this call is one of many with it; null where it is not.
  StepWeight<T>* step_weight = nullptr;
};

template <typename T>
struct LstmOutputs {
  Var<T> sequence;     // h of each step [batch, time, width]; 0 where padded
  Var<T> final_state;  // h [batch, width] after the last step of each sequence
  Var<T> final_cell;   // c [batch, width]
};

// One step is a sequence of one: projected [batch, 1, 4 width].
template <typename T>
LstmOutputs<T> LstmSequence(const LstmInputs<T>& inputs);

}  // namespace regard

#endif  // AUTODIFF_OPS_LSTM_H_
