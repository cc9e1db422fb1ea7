// A score that the options write as a formula; see attention/formula/.
#include <optional>
#include <string>
#include <vector>

#include "attention/formula/compiler.h"
#include "attention/formula/evaluation.h"
#include "attention/formula/node.h"
#include "attention/formula/syntax.h"
#include "attention/scoring/formula.pb.h"
#include "attention/scoring_kit.h"

namespace regard {

namespace {

std::optional<FormulaProblem> Compile(const FormulaScore& options,
                                      const ScoreWidths& widths,
                                      FormulaGraph* formula) {
  std::vector<FormulaVariable> declared;
  for (const FormulaParameter& parameter : options.parameter()) {
    declared.push_back(
        {parameter.name(), parameter.rows(), parameter.columns()});
    if (parameter.has_initial()) declared.back().initial = parameter.initial();
  }
  return CompileFormula(options.score(),
                        {widths.query, widths.key, options.width()}, declared,
                        formula);
}

FormulaGraph CompileValid(const FormulaScore& options,
                          const ScoreWidths& widths) {
  FormulaGraph formula;
  const std::optional<FormulaProblem> problem =
      Compile(options, widths, &formula);
  REGARD_CHECK(!problem.has_value()) << problem->message;
  return formula;
}

}  // namespace

template <typename T>
class Formula : public FormulaScorer<T> {
 public:
  using Options = FormulaScore;

  Formula(const Options& options, ParameterScope<T> scope,
          const ScoreWidths& widths)
      : FormulaScorer<T>(CompileValid(options, widths), scope, widths.heads) {}

  static bool PositionAware(const Options& options) {
    FormulaGraph formula;
    return !ParseFormula(options.score(), &formula).has_value() &&
           formula.UsesPositions();
  }

  static void Validate(const Options& options, const ScoreWidths& widths,
                       ConfigProblems& problems) {
    problems.CheckRanges(options);
    for (int i = 0; i < options.parameter_size(); ++i) {
      problems.CheckRanges(options.parameter(i),
                           absl::StrCat("parameter[", i, "]"));
    }
    FormulaGraph formula;
    const auto problem = Compile(options, widths, &formula);
    if (!problem.has_value()) return;
    if (problem->declared >= 0) {
      problems.Add(absl::StrCat("parameter[", problem->declared, "]"),
                   problem->message);
    } else {
      problems.AddWithin("score", problem->range, problem->message);
    }
  }
};

REGARD_SCORING_FUNCTION(Formula, "what `score` says")

}  // namespace regard
