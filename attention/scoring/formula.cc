// A score that the options write as a formula; see attention/formula/.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attention/formula/compiler.h"
#include "attention/formula/evaluation.h"
#include "attention/formula/program.h"
#include "attention/formula/syntax.h"
#include "attention/formula/types.h"
#include "attention/kernels/scaled_dot_attention.h"
#include "attention/scoring/formula.pb.h"
#include "attention/scoring_kit.h"

namespace regard {

namespace {

std::optional<FormulaProblem> Compile(const FormulaScore& options,
                                      const ScoreWidths& widths,
                                      FormulaProgram* program) {
  std::vector<DeclaredParameter> declared;
  for (const FormulaParameter& parameter : options.parameter()) {
    declared.push_back(
        {parameter.name(), parameter.rows(), parameter.columns()});
    if (parameter.has_initial()) declared.back().initial = parameter.initial();
  }
  return CompileFormula(options.score(),
                        {widths.query, widths.key, options.width()}, declared,
                        program);
}

FormulaProgram CompileValid(const FormulaScore& options,
                            const ScoreWidths& widths) {
  FormulaProgram program;
  const std::optional<FormulaProblem> problem =
      Compile(options, widths, &program);
  REGARD_CHECK(!problem.has_value()) << problem->message;
  return program;
}

}  // namespace

template <typename T>
class Formula : public ScoringFunction<T> {
 public:
  using Options = FormulaScore;

  Formula(const Options& options, ParameterScope<T> scope,
          const ScoreWidths& widths)
      : scorer_(CompileValid(options, widths), scope, widths.heads) {}

  static bool PositionAware(const Options& options) {
    FormulaTree formula;
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
    FormulaProgram program;
    const auto problem = Compile(options, widths, &program);
    if (!problem.has_value()) return;
    if (problem->declared >= 0) {
      problems.Add(absl::StrCat("parameter[", problem->declared, "]"),
                   problem->message);
    } else {
      problems.AddWithin("score", problem->range, problem->message);
    }
  }

  Var<T> Prepare(Forward<T>& forward, Var<T> keys,
                 int64_t key_position) const override {
    return scorer_.Prepare(forward, keys, key_position);
  }

  Var<T> Score(Forward<T>& forward, const ScoreInputs<T>& in) const override {
    return scorer_.Score(forward, in);
  }

  std::optional<Var<T>> FusedContext(
      Forward<T>& forward, const ScoreInputs<T>& in, Var<T> values,
      const ContextOptions<T>& options) const override {
    const auto product = scorer_.AsInnerProduct(forward, in);
    if (!product.queries.has_value()) return std::nullopt;
    return ScaledDotAttention(product.queries, product.keys, values, in.mask,
                              product.factor, in.positions, options);
  }

 private:
  FormulaScorer<T> scorer_;
};

REGARD_SCORING_FUNCTION(Formula, "what `score` says")

}  // namespace regard
