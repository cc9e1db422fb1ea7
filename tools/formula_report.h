// Describes a score that is written as a formula: the steps of its computation,
// and the results of the checks that every score must pass.
#ifndef TOOLS_FORMULA_REPORT_H_
#define TOOLS_FORMULA_REPORT_H_

#include <string>

#include "absl/status/statusor.h"
#include "attention/attention_registry.h"
#include "attention/scoring_function.h"

namespace regard {

class FormulaScore;

// Returns the parameters of the formula as text, with the cost of one query-key
// pair. The text also lists the terms that are computed once per key, per query
// and per pair. `widths` may come from the user. If they are invalid for the
// formula, returns an InvalidArgument error that can be printed as it is.
absl::StatusOr<std::string> ExplainFormula(const FormulaScore& formula,
                                           const ScoreWidths& widths);

// Returns a line for each of ScoreChecks(), followed by the failures of the
// check. `scorers` must contain FormulaScore. Sets `*failed` to the number of
// failed checks.
std::string CheckFormula(const AttentionRegistry& scorers,
                         const FormulaScore& formula, int* failed);

}  // namespace regard

#endif  // TOOLS_FORMULA_REPORT_H_
