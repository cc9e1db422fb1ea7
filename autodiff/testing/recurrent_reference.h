// The reference implementations of GruSequence and LstmSequence, composed of
// plain operations. Tests compare the fused implementations with them.
#ifndef AUTODIFF_TESTING_RECURRENT_REFERENCE_H_
#define AUTODIFF_TESTING_RECURRENT_REFERENCE_H_

#include "autodiff/recurrent/recurrent.h"

namespace regard {

template <typename T>
SequenceOutputs<T> GruSequenceReference(const SequenceInputs<T>& inputs,
                                        GruForm form);

template <typename T>
SequenceOutputs<T> LstmSequenceReference(const SequenceInputs<T>& inputs);

}  // namespace regard

#endif  // AUTODIFF_TESTING_RECURRENT_REFERENCE_H_
