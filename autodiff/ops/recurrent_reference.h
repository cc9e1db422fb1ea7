// GruSequence and LstmSequence composed of plain operations: what the fused
// ones are tested against, and what they fall back to where a fused backward
// pass is not enough.
#ifndef AUTODIFF_OPS_RECURRENT_REFERENCE_H_
#define AUTODIFF_OPS_RECURRENT_REFERENCE_H_

#include "autodiff/ops/gru.h"
#include "autodiff/ops/lstm.h"

namespace regard {

template <typename T>
GruOutputs<T> GruSequenceReference(const GruInputs<T>& inputs);

template <typename T>
LstmOutputs<T> LstmSequenceReference(const LstmInputs<T>& inputs);

}  // namespace regard

#endif  // AUTODIFF_OPS_RECURRENT_REFERENCE_H_
