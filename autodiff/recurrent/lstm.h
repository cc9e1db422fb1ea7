// A long short-term memory over whole sequences, fused. Formulas:
// autodiff/recurrent/lstm_cell.h.
#ifndef AUTODIFF_RECURRENT_LSTM_H_
#define AUTODIFF_RECURRENT_LSTM_H_

#include "autodiff/recurrent/recurrent_sequence.h"

namespace regard {

// Gates are stacked i, f, g, o; the states are h and c; bias_hh may be empty.
// One step is a sequence of length 1.
template <typename T>
SequenceOutputs<T> LstmSequence(const SequenceInputs<T>& inputs);

}  // namespace regard

#endif  // AUTODIFF_RECURRENT_LSTM_H_
