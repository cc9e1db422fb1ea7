// A gated recurrent unit over whole sequences, fused. Formulas:
// autodiff/recurrent/gru_cell.h.
#ifndef AUTODIFF_RECURRENT_GRU_H_
#define AUTODIFF_RECURRENT_GRU_H_

#include "autodiff/recurrent/gru_cell.h"
#include "autodiff/recurrent/recurrent_sequence.h"

namespace regard {

// Gates are stacked r, z, n. bias_hh is present if the form is kResetAfter, and
// only then. One step is a sequence of length 1.
template <typename T>
SequenceOutputs<T> GruSequence(const SequenceInputs<T>& inputs, GruForm form);

}  // namespace regard

#endif  // AUTODIFF_RECURRENT_GRU_H_
