// Compiles the options of a formula score into a graph of operations.
#ifndef ATTENTION_SCORING_FORMULA_H_
#define ATTENTION_SCORING_FORMULA_H_

#include <optional>

#include "attention/formula/node.h"
#include "attention/scoring_function.h"

namespace regard {

class FormulaScore;

// Calls the compiler of attention/formula/compiler.h on `options`. The field
// `declared` of a problem is an index into `options.parameter()`.
std::optional<FormulaProblem> CompileFormula(const FormulaScore& options,
                                             const ScoreWidths& widths,
                                             FormulaGraph* formula);

}  // namespace regard

#endif  // ATTENTION_SCORING_FORMULA_H_
