// Sums, means and maxima over one axis or over all axes.
#ifndef AUTODIFF_OPS_REDUCTIONS_H_
#define AUTODIFF_OPS_REDUCTIONS_H_

#include "autodiff/tape.h"

namespace regard {

// Reduce all elements to a scalar. Mean and Max require at least one element.
template <typename T>
Var<T> Sum(Var<T> x);
template <typename T>
Var<T> Mean(Var<T> x);
template <typename T>
Var<T> Max(Var<T> x);

// Reduce one axis. If `keep` is true, the axis remains, with extent 1. If not,
// it is removed.
template <typename T>
Var<T> Sum(Var<T> x, int axis, bool keep = false);
template <typename T>
Var<T> Mean(Var<T> x, int axis, bool keep = false);
// If several elements are maximal, only the first one receives the gradient.
template <typename T>
Var<T> Max(Var<T> x, int axis, bool keep = false);

}  // namespace regard

#endif  // AUTODIFF_OPS_REDUCTIONS_H_
