// The reference implementations of GruSequence and LstmSequence, composed of
// plain operations. Tests compare the fused implementations with them.
#ifndef AUTODIFF_TESTING_RECURRENT_REFERENCE_H_
#define AUTODIFF_TESTING_RECURRENT_REFERENCE_H_

#include "autodiff/recurrent/recurrent.h"

namespace regard {

template <typename T>
RecurrentSequenceOutputs<T> GruSequenceReference(
    const RecurrentSequenceOperands<T>& inputs, GruForm form);

template <typename T>
RecurrentSequenceOutputs<T> LstmSequenceReference(
    const RecurrentSequenceOperands<T>& inputs);

}  // namespace regard

#endif  // AUTODIFF_TESTING_RECURRENT_REFERENCE_H_
