// Solves unit lower triangular systems of equations.
#ifndef AUTODIFF_OPS_UNIT_LOWER_SOLVE_H_
#define AUTODIFF_OPS_UNIT_LOWER_SOLVE_H_

#include "autodiff/tape.h"

namespace regard {

// Returns x with (I + L) x = b, for each pair of matrices in a [.., n, n] and b
// [.., n, m]. L is the part of a below the diagonal. The other elements of `a`
// are not read. Rows are computed one after another, so the bits of a row do
// not depend on later rows.
template <typename T>
Var<T> UnitLowerSolve(Var<T> a, Var<T> b);

}  // namespace regard

#endif  // AUTODIFF_OPS_UNIT_LOWER_SOLVE_H_
