// Softmax over the last axis.
#ifndef AUTODIFF_OPS_SOFTMAX_H_
#define AUTODIFF_OPS_SOFTMAX_H_

#include "autodiff/tape.h"

namespace regard {

// exp(x) / sum exp(x), the row's maximum subtracted first.
template <typename T>
Var<T> Softmax(Var<T> x);

// x - log sum exp(x).
template <typename T>
Var<T> LogSoftmax(Var<T> x);

}  // namespace regard

#endif  // AUTODIFF_OPS_SOFTMAX_H_
