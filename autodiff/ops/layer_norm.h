// Normalisation of each row.
#ifndef AUTODIFF_OPS_LAYER_NORM_H_
#define AUTODIFF_OPS_LAYER_NORM_H_

#include <type_traits>

#include "autodiff/tape.h"

namespace regard {

// (x - mean) / sqrt(variance + epsilon) * gain + bias, over the last axis of
// x [.., cols], gain and bias [cols]; the variance is divided by cols. An empty
// bias is 0.
// Ba, Kiros and Hinton, "Layer normalization", 2016.
template <typename T>
Var<T> LayerNorm(Var<T> x, Var<T> gain, Var<T> bias,
                 std::type_identity_t<T> epsilon);

}  // namespace regard

#endif  // AUTODIFF_OPS_LAYER_NORM_H_
