// The score that the options give as a formula. attention/formula/ compiles and
// evaluates the formula.
#include "attention/scoring/formula.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "attention/formula/compiler.h"
#include "attention/formula/evaluation.h"
#include "attention/formula/node.h"
#include "attention/formula/syntax.h"
#include "attention/scoring/formula.pb.h"
#include "attention/scoring_kit.h"
#include "options/config_problems.h"
#include "options/name_suggestion.h"

namespace regard {

namespace {

// Adds a note if the name of a parameter is at most one edit away from a
// predefined name, ignoring case. An example is "'n' is taken as a learned
// parameter; did you mean 'd'?". A predefined variable must have the shape of
// the parameter: a number for a scalar, x_i or x_j for a vector.
void NoteTypo(const FormulaParameterInfo& parameter, ConfigProblems& problems) {
  std::vector<std::string> meant;
  for (const FormulaOpInfo<double>& function : FormulaOpInfos<double>()) {
    const std::string known(function.name());
    if (known.empty() || !absl::ascii_isalpha(known[0])) continue;
    const bool is_input = known == "x_i" || known == "x_j";
    const bool is_vector = is_input || known == "q" || known == "k";
    const int rank = parameter.shape().rank();
    if (function.operands() == 0 &&
        (is_vector ? !is_input || rank != 1 : rank != 0)) {
      continue;
    }
    const std::string name = absl::StrCat("'", known, "'");
    if (EditDistance(absl::AsciiStrToLower(parameter.name), known) <= 1 &&
        std::ranges::count(meant, name) == 0) {
      meant.push_back(name);
    }
  }
  if (meant.empty()) return;
  problems.Note("score",
                absl::StrCat("'", parameter.name,
                             "' is taken as a learned parameter; did you mean ",
                             absl::StrJoin(meant, ", "), "?"));
}

void NoteParameters(const FormulaScore& options, const FormulaGraph& formula,
                    const ScoreWidths& widths, ConfigProblems& problems) {
  std::vector<std::string> sizes;
  for (const FormulaParameterInfo& parameter : formula.parameters) {
    sizes.push_back(absl::StrCat(parameter.name, " (",
                                 widths.heads * parameter.shape().size(), ")"));
    const bool is_declared =
        std::any_of(options.parameter().begin(), options.parameter().end(),
                    [&](const FormulaParameter& declared) {
                      return declared.name() == parameter.name;
                    });
    if (!is_declared) NoteTypo(parameter, problems);
  }
  problems.Note(
      "score",
      absl::StrCat(kFormulaParameters,
                   sizes.empty() ? "none" : absl::StrJoin(sizes, ", ")));
}

FormulaGraph CompileValid(const FormulaScore& options,
                          const ScoreWidths& widths) {
  FormulaGraph formula;
  const std::optional<FormulaProblem> problem =
      CompileFormula(options, widths, &formula);
  REGARD_CHECK(!problem.has_value()) << problem->message;
  return formula;
}

}  // namespace

std::optional<FormulaProblem> CompileFormula(const FormulaScore& options,
                                             const ScoreWidths& widths,
                                             FormulaGraph* formula) {
  std::vector<FormulaParameterInfo> declared;
  for (const FormulaParameter& parameter : options.parameter()) {
    declared.push_back({.name = parameter.name(),
                        .rows = parameter.rows(),
                        .columns = parameter.columns(),
                        .is_scalar = parameter.scalar()});
    if (parameter.has_initial()) declared.back().initial = parameter.initial();
    if (parameter.has_table()) {
      declared.back().table = {parameter.table().lowest(),
                               parameter.table().highest()};
    }
  }
  return CompileFormula(options.score(),
                        {.query = widths.query,
                         .key = widths.key,
                         .free = options.width(),
                         .query_input = widths.query_input,
                         .key_input = widths.key_input,
                         .heads = widths.heads},
                        declared, formula);
}

template <typename T>
class Formula : public FormulaScorer<T> {
 public:
  using Options = FormulaScore;
  // Prepare() may return terms whose width differs from the width of the keys.
  static constexpr bool kPreparesOtherWidths = true;

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
    FormulaGraph formula;
    const auto problem = CompileFormula(options, widths, &formula);
    if (!problem.has_value()) {
      NoteParameters(options, formula, widths, problems);
      return;
    }
    if (problem->declared >= 0) {
      problems.Add(absl::StrCat("parameter[", problem->declared, "]"),
                   problem->message);
    } else {
      problems.AddWithin("score", problem->range, problem->message);
    }
  }
};

REGARD_SCORING_FUNCTION(Formula, "the formula in `score`")

}  // namespace regard
