// Softmax and its logarithm over the last axis.
#ifndef AUTODIFF_OPS_SOFTMAX_H_
#define AUTODIFF_OPS_SOFTMAX_H_

#include "autodiff/tape.h"

namespace regard {

// exp(x) / sum exp(x). The maximum of the row is subtracted first.
template <typename T>
Var<T> Softmax(Var<T> x);

// x - log sum exp(x). The maximum of the row is subtracted first.
template <typename T>
Var<T> LogSoftmax(Var<T> x);

}  // namespace regard

#endif  // AUTODIFF_OPS_SOFTMAX_H_
