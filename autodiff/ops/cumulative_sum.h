// The cumulative sum along an axis.
#ifndef AUTODIFF_OPS_CUMULATIVE_SUM_H_
#define AUTODIFF_OPS_CUMULATIVE_SUM_H_

#include "autodiff/tape.h"

namespace regard {

// Element i along `axis` of the result is the sum of elements 0 .. i of x,
// added in ascending order.
template <typename T>
Var<T> CumulativeSum(Var<T> x, int axis);

}  // namespace regard

#endif  // AUTODIFF_OPS_CUMULATIVE_SUM_H_
