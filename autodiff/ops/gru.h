// A gated recurrent unit over whole sequences, fused. Formulas:
// autodiff/kernels/gru_cell.h.
#ifndef AUTODIFF_OPS_GRU_H_
#define AUTODIFF_OPS_GRU_H_

#include "autodiff/kernels/gru_cell.h"
#include "autodiff/ops/recurrent_sequence.h"

namespace regard {

// Gates are stacked r, z, n. bias_hh is present if the form is kResetAfter, and
// only then. One step is a sequence of length 1.
template <typename T>
SequenceOutputs<T> GruSequence(const SequenceInputs<T>& inputs, GruForm form);

}  // namespace regard

#endif  // AUTODIFF_OPS_GRU_H_
