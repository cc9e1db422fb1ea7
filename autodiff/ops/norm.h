// Layer normalization of each row, and RMS normalization, which does not
// subtract the mean.
#ifndef AUTODIFF_OPS_NORM_H_
#define AUTODIFF_OPS_NORM_H_

#include <type_traits>

#include "autodiff/tape.h"

namespace regard {

// (x - mean) / sqrt(variance + epsilon) * gain + bias, over the last axis of x
// [.., cols]. gain and bias are [cols]. The variance is the mean of the squared
// deviations. An empty bias means 0. Ba, Kiros and Hinton, "Layer
// normalization", 2016.
template <typename T>
Var<T> LayerNorm(Var<T> x, Var<T> gain, Var<T> bias,
                 std::type_identity_t<T> epsilon);

// x / sqrt(mean of x^2 + epsilon) * gain, over the last axis of x [.., cols].
// gain is [cols]. Zhang and Sennrich, "Root mean square layer
// normalization", 2019.
template <typename T>
Var<T> RmsNorm(Var<T> x, Var<T> gain, std::type_identity_t<T> epsilon);

}  // namespace regard

#endif  // AUTODIFF_OPS_NORM_H_
