#include "tools/formula_report.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "attention/attention.pb.h"
#include "attention/formula/compiler.h"
#include "attention/formula/program.h"
#include "attention/formula/syntax.h"
#include "attention/formula/types.h"
#include "attention/testing/expectations.h"
#include "attention/testing/score_checks.h"
#include "files/config_text.h"

namespace regard {

namespace {

bool IsTranscendental(const FormulaTerm& term) {
  switch (term.operation) {
    case FormulaOp::kTanh:
    case FormulaOp::kSigmoid:
    case FormulaOp::kSoftplus:
    case FormulaOp::kExp:
    case FormulaOp::kLog:
    case FormulaOp::kCos:
    case FormulaOp::kSin:
      return true;
    case FormulaOp::kPower:
      return term.number != 2;
    default:
      return false;
  }
}

struct Cost {
  int64_t arithmetic = 0;  // additions, products, comparisons and roots
  int64_t transcendental = 0;
};

void AddCost(const FormulaProgram& program, const FormulaTerm& term,
             Cost* cost) {
  const auto width = [&](size_t i) {
    return program.terms[term.operands[i]].width;
  };
  const int64_t own = std::max<int64_t>(term.width, 1);
  if (term.op == TermOp::kAdditive) {
    cost->arithmetic += 3 * width(0);
    cost->transcendental += width(0);
  } else if (term.op == TermOp::kDistance) {
    cost->arithmetic += 3 * width(0);
  } else if (term.op == TermOp::kInnerProducts ||
             term.operation == FormulaOp::kDot) {
    cost->arithmetic += 2 * width(0);
  } else if (term.operation == FormulaOp::kProduct) {
    cost->arithmetic += 2 * own * width(1);
  } else if (term.operation == FormulaOp::kSum) {
    cost->arithmetic += width(0);
  } else if (IsTranscendental(term)) {
    cost->transcendental += own;
  } else {
    cost->arithmetic += own;
  }
}

const char* KernelOf(const FormulaTerm& term) {
  switch (term.op) {
    case TermOp::kInnerProducts:
      return "   by the kernel of inner products";
    case TermOp::kAdditive:
      return "   by the kernel of additive scores";
    case TermOp::kDistance:
      return "   by the kernel of squared distances";
    default:
      return term.width > 0 ? "   as a vector for each pair" : "";
  }
}

// The terms of one level that are no leaves.
std::string TermsOf(const FormulaProgram& program,
                    const std::vector<int>& order, TermLevel level) {
  std::string lines;
  for (const int t : order) {
    const FormulaTerm& term = program.terms[t];
    if (term.level != level || term.operands.empty()) continue;
    absl::StrAppend(&lines, "  ", program.Text(t),
                    level == TermLevel::kPair ? KernelOf(term) : "", "\n");
  }
  return lines;
}

}  // namespace

absl::StatusOr<std::string> ExplainFormula(const FormulaScore& formula,
                                           const ScoreWidths& widths) {
  FormulaProgram program;
  const std::optional<FormulaProblem> problem =
      CompileFormula(formula.score(),
                     {widths.query, widths.key, formula.width()}, {}, &program);
  if (problem.has_value()) {
    return absl::InvalidArgumentError(
        ConfigText::Override(formula.score(), "--formula")
            .Diagnostic({problem->range, problem->message}));
  }
  std::string text = absl::StrCat(formula.score(), "\nfor queries of width ",
                                  widths.query, ", keys of width ", widths.key,
                                  " and ", widths.heads, " head(s).\n\n");
  int64_t count = 0;
  std::string parameters;
  for (const InferredParameter& parameter : program.parameters) {
    const int64_t rows = std::max<int64_t>(parameter.rows, 1);
    const int64_t size =
        widths.heads * rows * std::max<int64_t>(parameter.columns, 1);
    count += size;
    const std::string shape = parameter.columns > 0
                                  ? absl::StrCat(rows, " x ", parameter.columns)
                              : parameter.rows > 0 ? absl::StrCat(rows)
                                                   : "scalar";
    absl::StrAppendFormat(&parameters, "  %-12s %-14s %d\n", parameter.name,
                          shape, size);
  }
  absl::StrAppend(&text, "Parameters: ", count, "\n", parameters);
  int64_t prepared = 0;
  for (const int term : program.prepared) {
    prepared += std::max<int64_t>(program.terms[term].width, 1);
  }
  absl::StrAppend(&text, "Once per key, kept as ",
                  program.prepared.empty() ? widths.key : prepared,
                  " numbers (Prepare):\n",
                  TermsOf(program, program.prepare_order, TermLevel::kKey),
                  "Once per query:\n",
                  TermsOf(program, program.score_order, TermLevel::kQuery),
                  "For each pair of query and key:\n",
                  TermsOf(program, program.score_order, TermLevel::kPair));
  Cost cost;
  for (const int t : program.score_order) {
    const FormulaTerm& term = program.terms[t];
    if (term.level == TermLevel::kPair) AddCost(program, term, &cost);
  }
  absl::StrAppend(&text, "A pair costs ", cost.arithmetic,
                  " arithmetic operations and ", cost.transcendental,
                  " transcendental functions.\n");
  if (program.terms[program.root].op == TermOp::kInnerProducts) {
    text += "With softmax, context and scores come from one fused kernel.\n";
  }
  return text;
}

std::string CheckFormula(const AttentionRegistry& scorers,
                         const FormulaScore& formula, int* failed) {
  Attention config;
  *config.mutable_formula() = formula;
  const ScorerInfo& info = *scorers.Find(config);
  *failed = 0;
  const std::optional<ScoreWidths> widths = CheckedWidths(info, formula);
  if (!widths.has_value()) {
    return "No checks: they need a formula for queries and keys of width 4.\n";
  }
  std::string text =
      absl::StrCat("Checks, with ", widths->heads, " heads, queries of width ",
                   widths->query, " and keys of width ", widths->key, ":\n");
  for (const ScoreCheck& check : ScoreChecks()) {
    Expectations expect;
    check.run({scorers, info, formula, *widths}, expect);
    const bool holds = expect.failures().empty();
    const char* outcome = !holds                     ? "FAILS"
                          : expect.skipped().empty() ? "holds"
                                                     : "-";
    absl::StrAppendFormat(
        &text, "  %-7s%s%s\n", outcome, check.name,
        expect.skipped().empty() ? "" : absl::StrCat(": ", expect.skipped()));
    *failed += !holds;
    for (const std::string& failure : expect.failures()) {
      absl::StrAppend(&text, "         ", failure, "\n");
    }
  }
  return text;
}

}  // namespace regard
