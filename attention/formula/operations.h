// The operations of formulas on values of the tape.
#ifndef ATTENTION_FORMULA_OPERATIONS_H_
#define ATTENTION_FORMULA_OPERATIONS_H_

#include "absl/types/span.h"
#include "attention/formula/syntax.h"
#include "autodiff/tape.h"

namespace regard {

// An elementwise `op` of operands that broadcast; `exponent` is that of a
// power.
template <typename T>
Var<T> Elementwise(FormulaOp op, double exponent,
                   absl::Span<const Var<T>> operands);

}  // namespace regard

#endif  // ATTENTION_FORMULA_OPERATIONS_H_
