// From the options of a formula to what is computed.
#ifndef ATTENTION_SCORING_FORMULA_H_
#define ATTENTION_SCORING_FORMULA_H_

#include <optional>

#include "attention/formula/node.h"
#include "attention/scoring_function.h"

namespace regard {

class FormulaScore;

// CompileFormula() of these options. `declared` of a problem is the number of a
// `parameter`.
std::optional<FormulaProblem> CompileFormula(const FormulaScore& options,
                                             const ScoreWidths& widths,
                                             FormulaGraph* formula);

}  // namespace regard

#endif  // ATTENTION_SCORING_FORMULA_H_
