// Which parts of a formula are scalars and which vectors, and the parameters
// that it needs.
//
// Names other than q, k, i, j, d, dq and dk are parameters: a matrix left of a
// product; a vector where `.`, sum, norm, the right side of a product, or `+`
// and `-` beside a vector need one; else a scalar. What no use and no
// declaration says of an axis is the formula's width.
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
};

// Infers the widths of a parsed formula's nodes and the shapes of its
// parameters, and makes numbers of d, dq and dk, or says what is wrong first.
// The order of uses changes no type.
std::optional<FormulaProblem> InferFormulaTypes(
    const FormulaWidths& widths, absl::Span<const FormulaVariable> declared,
    FormulaGraph* formula);

}  // namespace regard

#endif  // ATTENTION_FORMULA_TYPES_H_
