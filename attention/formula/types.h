// Which parts of a formula are scalars and which vectors, and the parameters
// that it needs.
//
// A name without a meaning in formulas is a parameter: a matrix left of a
// product; a table before an index; a vector where `.`, sum, norm, the right
// side of a product, or `+` and `-` beside a vector need one; else a scalar.
// An axis whose size neither a use nor a declaration determines has the
// formula's width.
#ifndef ATTENTION_FORMULA_TYPES_H_
#define ATTENTION_FORMULA_TYPES_H_

#include <cstdint>
#include <optional>

#include "absl/types/span.h"
#include "attention/formula/node.h"

namespace regard {

struct FormulaWidths {
  int64_t query = 0;
  int64_t key = 0;
  int64_t free = 0;  // of axes that nothing else determines; 0: the query's
  int64_t query_input = 0;  // width of x_i; 0: there is none
  int64_t key_input = 0;
  int64_t heads = 1;
};

// Infers the widths of a parsed formula's nodes and the shapes of its
// parameters, and makes numbers of d, dq, dk and heads, or says what is wrong
// first.
// The order of uses changes no type.
std::optional<FormulaProblem> InferFormulaTypes(
    const FormulaWidths& widths, absl::Span<const FormulaVariable> declared,
    FormulaGraph* formula);

}  // namespace regard

#endif  // ATTENTION_FORMULA_TYPES_H_
