// Matrix products and the affine map.
#ifndef AUTODIFF_OPS_LINEAR_H_
#define AUTODIFF_OPS_LINEAR_H_

#include <cstdint>

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

// Columns first .. first + count - 1 of a weight [out, in], as an operand of
// Linear() and of nothing else: a weight [out, count] whose gradient is added
// to that of `weight`. Nothing is copied.
template <typename T>
struct Columns {
  Var<T> weight;
  int64_t first;
  int64_t count;

  Columns(Var<T> weight, int64_t first, int64_t count)
      : weight(weight), first(first), count(count) {}
};

// x [.., in] times the transpose of weight [out, in], plus `addend`: nothing if
// it is empty, a bias [out], or an array of the result's shape -> [.., out].
//
// Products with a leaf are fast whether they have many rows or few, as those of
// one time step have.
template <typename T>
Var<T> Linear(Var<T> x, Var<T> weight, Var<T> addend);
template <typename T>
Var<T> Linear(Var<T> x, const Columns<T>& weight, Var<T> addend);

}  // namespace regard

#endif  // AUTODIFF_OPS_LINEAR_H_
