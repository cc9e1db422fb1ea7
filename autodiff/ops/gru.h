// A gated recurrent unit over whole sequences, fused: products over all steps
// where the recurrence allows it, gates kept for the backward pass.
// Formulas: autodiff/kernels/gru_cell.h.
#ifndef AUTODIFF_OPS_GRU_H_
#define AUTODIFF_OPS_GRU_H_

#include <cstdint>

#include "absl/types/span.h"
#include "autodiff/kernels/gru_cell.h"
#include "autodiff/ops/step_weight.h"
#include "autodiff/tape.h"

namespace regard {

template <typename T>
struct GruInputs {
  Var<T> projected;      // [batch, time, 3 width]: W_ih x + b_ih
  Var<T> weight_hh;      // [3 width, width], gates stacked r, z, n
  Var<T> bias_hh;        // [3 width] for reset_after; empty for reset_before
  Var<T> initial_state;  // [batch, width]
  // [batch], each 0 .. time; empty: all are `time`.
  absl::Span<const int32_t> lengths;
  bool reverse = false;  // from each sequence's own end to its start
  GruForm form = GruForm::kResetBefore;
  // weight_hh, where this call is one of many with it; null where it is not.
  StepWeight<T>* step_weight = nullptr;
};

template <typename T>
struct GruOutputs {
  Var<T> sequence;     // [batch, time, width]; 0 from the length on
  Var<T> final_state;  // [batch, width]; after the last step of each sequence
};

template <typename T>
GruOutputs<T> GruSequence(const GruInputs<T>& inputs);

// One step: projected [batch, 3 width], state [batch, width] -> the next state.
template <typename T>
Var<T> GruStep(Var<T> projected, Var<T> weight_hh, Var<T> bias_hh, Var<T> state,
               GruForm form);

}  // namespace regard

#endif  // AUTODIFF_OPS_GRU_H_
