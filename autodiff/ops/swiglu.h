// SwiGLU, a gated activation for feed-forward layers.
#ifndef AUTODIFF_OPS_SWIGLU_H_
#define AUTODIFF_OPS_SWIGLU_H_

#include "autodiff/tape.h"

namespace regard {

// gate * sigmoid(gate) * x, element by element. The operands must have the same
// shape. Shazeer, "GLU variants improve Transformer", 2020.
template <typename T>
Var<T> SwiGlu(Var<T> gate, Var<T> x);

}  // namespace regard

#endif  // AUTODIFF_OPS_SWIGLU_H_
