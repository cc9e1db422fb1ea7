// Division of each row by its root mean square.
#ifndef AUTODIFF_OPS_RMS_NORM_H_
#define AUTODIFF_OPS_RMS_NORM_H_

#include <type_traits>

#include "autodiff/tape.h"

namespace regard {

// x / sqrt(mean of x^2 + epsilon) * gain, over the last axis of x [.., cols];
// gain [cols].
// Zhang and Sennrich, "Root mean square layer normalization", 2019.
template <typename T>
Var<T> RmsNorm(Var<T> x, Var<T> gain, std::type_identity_t<T> epsilon);

}  // namespace regard

#endif  // AUTODIFF_OPS_RMS_NORM_H_
