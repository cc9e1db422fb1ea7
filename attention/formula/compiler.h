// Compiles the text of a formula into a graph of operations.
//
// Regroups terms of sums and factors of products, so that as little as possible
// is computed for each pair. For example, `q . k / (norm(q) * norm(k))` scales
// queries and keys before the inner product. Equal subexpressions are computed
// once. These patterns become fused kernels:
// * an inner product of query and key;
// * `v . tanh(a + b)`;
// * a squared distance: `sum((q - k)^2)`, `norm(q - k)^2` or
//   `(q - k) . (q - k)`.
#ifndef ATTENTION_FORMULA_COMPILER_H_
#define ATTENTION_FORMULA_COMPILER_H_

#include <optional>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "attention/formula/node.h"
#include "attention/formula/types.h"

namespace regard {

// Parses `text`, infers its types and regroups it. Returns the first problem,
// or nullopt if there is none. A constant part that is NaN, such as log(-1), is
// a problem.
std::optional<FormulaProblem> CompileFormula(
    absl::string_view text, const FormulaWidths& widths,
    absl::Span<const FormulaParameterInfo> declared, FormulaGraph* formula);

}  // namespace regard

#endif  // ATTENTION_FORMULA_COMPILER_H_
