// Excludes a value from differentiation.
#ifndef AUTODIFF_OPS_STOP_GRADIENT_H_
#define AUTODIFF_OPS_STOP_GRADIENT_H_

#include "autodiff/tape.h"

namespace regard {

// A constant that shares the storage of x.
template <typename T>
Var<T> StopGradient(Var<T> x) {
  return x.tape().Leaf(x.data(), nullptr, x.shape());
}

}  // namespace regard

#endif  // AUTODIFF_OPS_STOP_GRADIENT_H_
