// What a score that is written as a formula computes, and whether it holds what
// every score does.
#ifndef TOOLS_FORMULA_REPORT_H_
#define TOOLS_FORMULA_REPORT_H_

#include <string>

#include "absl/status/statusor.h"
#include "attention/attention_registry.h"
#include "attention/scoring_function.h"

namespace regard {

class FormulaScore;

// The formula's parameters, what is computed once per key, once per query and
// for each pair, and what a pair costs. InvalidArgument, complete to print, for
// a formula that cannot be; `widths` are the user's.
absl::StatusOr<std::string> ExplainFormula(const FormulaScore& formula,
                                           const ScoreWidths& widths);

// A line for each of ScoreChecks(), and what fails under it. `scorers` knows
// FormulaScore. Sets `*failed` to the number of those that fail.
std::string CheckFormula(const AttentionRegistry& scorers,
                         const FormulaScore& formula, int* failed);

}  // namespace regard

#endif  // TOOLS_FORMULA_REPORT_H_
