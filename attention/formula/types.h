// Infers which parts of a formula are scalars or vectors, and its parameters.
//
// A name that is not predefined is a parameter. Its use determines its kind:
// * matrix: on the left of a product;
// * table: before an index;
// * vector: if `.`, sum, norm or the right side of a product requires a
//   vector, or if `+` or `-` joins it with a vector;
// * scalar: in all other cases.
//
// An axis has the free width if neither a use nor a declaration determines its
// size.
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
  int64_t free = 0;         // width of undetermined axes; 0 means `query`
  int64_t query_input = 0;  // width of x_i; 0 means not available
  int64_t key_input = 0;
  int64_t heads = 1;
};

// Infers the widths of the nodes and the shapes of the parameters of a parsed
// formula. Replaces d, dq, dk and heads by numbers. Returns the first problem,
// or nullopt if there is none. The result does not depend on the order in which
// the formula uses the parameters.
std::optional<FormulaProblem> InferFormulaTypes(
    const FormulaWidths& widths,
    absl::Span<const FormulaParameterInfo> declared, FormulaGraph* formula);

}  // namespace regard

#endif  // ATTENTION_FORMULA_TYPES_H_
