// From the text of a formula to what is computed.
//
// Terms of sums and factors of products are regrouped, so that as little as
// possible is left for pairs: `q . k / (norm(q) * norm(k))` scales queries and
// keys. Three shapes become fused kernels: an inner product of query and key,
// `v . tanh(a + b)`, and a squared distance (`sum((q - k)^2)`, `norm(q - k)^2`,
// `(q - k) . (q - k)`). Equal parts are computed once.
#ifndef ATTENTION_FORMULA_COMPILER_H_
#define ATTENTION_FORMULA_COMPILER_H_

#include <optional>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "attention/formula/node.h"
#include "attention/formula/types.h"

namespace regard {

// Reads `text`, infers its types and regroups it, or says what is wrong first:
// also a part that is no number, as log(-1).
std::optional<FormulaProblem> CompileFormula(
    absl::string_view text, const FormulaWidths& widths,
    absl::Span<const FormulaVariable> declared, FormulaGraph* formula);

}  // namespace regard

#endif  // ATTENTION_FORMULA_COMPILER_H_
