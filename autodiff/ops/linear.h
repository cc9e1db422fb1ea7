// Matrix products and the affine map.
#ifndef AUTODIFF_OPS_LINEAR_H_
#define AUTODIFF_OPS_LINEAR_H_

#include "autodiff/tape.h"

namespace regard {

// Which operands of a product are transposed in their last two axes.
struct Transpositions {
  bool a = false;
  bool b = false;
};

// [.., m, k] times [.., k, n] -> [.., m, n], read in place where transposed.
// Leading axes broadcast. Where b is a matrix and a is not transposed, all rows
// of a make one product.
template <typename T>
Var<T> MatMul(Var<T> a, Var<T> b, Transpositions transposed = {});

// x [.., in] times the transpose of weight [out, in], plus bias [out] unless it
// is empty -> [.., out].
template <typename T>
Var<T> Linear(Var<T> x, Var<T> weight, Var<T> bias);

}  // namespace regard

#endif  // AUTODIFF_OPS_LINEAR_H_
