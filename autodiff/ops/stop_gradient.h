// A value through which no gradient flows.
#ifndef AUTODIFF_OPS_STOP_GRADIENT_H_
#define AUTODIFF_OPS_STOP_GRADIENT_H_

#include "autodiff/tape.h"

namespace regard {

// The storage of x, as a constant; free.
template <typename T>
Var<T> StopGradient(Var<T> x) {
  return x.tape().Leaf(x.data(), nullptr, x.shape());
}

}  // namespace regard

#endif  // AUTODIFF_OPS_STOP_GRADIENT_H_
