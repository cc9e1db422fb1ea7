// Matrix products and the affine map x W^T + b.
#ifndef AUTODIFF_OPS_LINEAR_H_
#define AUTODIFF_OPS_LINEAR_H_

#include <cstdint>

#include "autodiff/tape.h"

namespace regard {

// The operands of a product that are transposed in their last two axes.
struct Transpositions {
  bool a = false;
  bool b = false;
};

// [.., m, k] times [.., k, n] -> [.., m, n]. Transposed operands are read in
// place. Leading axes broadcast. If b is a matrix and `a` is not transposed,
// one product computes all rows of the result.
template <typename T>
Var<T> MatMul(Var<T> a, Var<T> b, Transpositions transposed = {});

// Columns first .. first + count - 1 of a weight [out, in], as an operand of
// Linear() only. Acts as a weight [out, count] whose gradient is added to the
// gradient of `weight`. Nothing is copied.
template <typename T>
struct WeightColumns {
  Var<T> weight;
  int64_t first;
  int64_t count;

  WeightColumns(Var<T> weight, int64_t first, int64_t count)
      : weight(weight), first(first), count(count) {}
};

// x [.., in] times the transpose of weight [out, in], plus `addend` -> [..,
// out]. The addend is a bias [out], an array of the result's shape, or empty
// for no addend.
//
// Products with a leaf are fast for many rows, and for few rows such as a
// single time step.
template <typename T>
Var<T> Linear(Var<T> x, Var<T> weight, Var<T> addend);
template <typename T>
Var<T> Linear(Var<T> x, const WeightColumns<T>& weight, Var<T> addend);

}  // namespace regard

#endif  // AUTODIFF_OPS_LINEAR_H_
