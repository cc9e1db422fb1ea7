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
#include "attention/checks/expectations.h"
#include "attention/checks/score_checks.h"
#include "attention/formula/inner_product_decomposition.h"
#include "attention/formula/node.h"
#include "attention/scoring/formula.h"
#include "attention/scoring/formula.pb.h"
#include "autodiff/shape.h"
#include "options/config_text.h"

namespace regard {

namespace {

struct Cost {
  int64_t arithmetic = 0;  // additions, products, comparisons and roots
  int64_t transcendental = 0;
};

void AddCost(const FormulaGraph& graph, const FormulaNode& node, Cost* cost) {
  const auto width = [&](size_t i) {
    return graph.nodes[node.operands[i]].width;
  };
  const int64_t own = std::max<int64_t>(node.width, 1);
  const bool is_square =
      node.op == FormulaOp::kPower && graph.nodes[node.operands[1]].number == 2;
  if (node.op == FormulaOp::kAdditive) {
    cost->arithmetic += 3 * width(0);
    cost->transcendental += width(0);
  } else if (node.op == FormulaOp::kDistance) {
    cost->arithmetic += 3 * width(0);
  } else if (node.op == FormulaOp::kInnerProducts ||
             node.op == FormulaOp::kDot) {
    cost->arithmetic += 2 * width(0);
  } else if (node.op == FormulaOp::kProduct) {
    cost->arithmetic += 2 * own * width(1);
  } else if (node.op == FormulaOp::kSum) {
    cost->arithmetic += width(0);
  } else if (FormulaOpInfoFor<double>(node.op).transcendental && !is_square) {
    cost->transcendental += own;
  } else {
    cost->arithmetic += own;
  }
}

const char* KernelOf(const FormulaNode& node) {
  switch (node.op) {
    case FormulaOp::kInnerProducts:
      return "   by the inner-product kernel";
    case FormulaOp::kAdditive:
      return "   by the additive-score kernel";
    case FormulaOp::kDistance:
      return "   by the squared-distance kernel";
    default:
      return node.width > 0 ? "   as a vector for each pair" : "";
  }
}

// Returns the terms of a formula at one level, one per line. Omits leaves.
std::string TermsOf(const FormulaGraph& graph, const std::vector<int>& order,
                    FormulaLevel level) {
  std::string lines;
  for (const int t : order) {
    const FormulaNode& node = graph.nodes[t];
    if (node.level != level || node.operands.empty()) continue;
    absl::StrAppend(&lines, "  ", graph.Text(t),
                    level == FormulaLevel::kPair ? KernelOf(node) : "", "\n");
  }
  return lines;
}

}  // namespace

absl::StatusOr<std::string> ExplainFormula(const FormulaScore& formula,
                                           const ScoreWidths& widths) {
  FormulaGraph graph;
  const std::optional<FormulaProblem> problem =
      CompileFormula(formula, widths, &graph);
  if (problem.has_value() && problem->declared >= 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("error: --declare: parameter[", problem->declared,
                     "]: ", problem->message));
  }
  if (problem.has_value()) {
    return absl::InvalidArgumentError(
        ConfigTextWithOrigin::Override(formula.score(), "--formula")
            .Diagnostic({problem->range, problem->message}));
  }
  std::string text = absl::StrCat(formula.score(), "\nfor queries of width ",
                                  widths.query, ", keys of width ", widths.key,
                                  " and ", widths.heads, " head(s).\n\n");
  int64_t count = 0;
  std::string parameters;
  for (const FormulaParameterInfo& parameter : graph.parameters) {
    const Shape of_head = parameter.shape();
    const int64_t size = widths.heads * of_head.size();
    count += size;
    const std::string shape =
        parameter.table.has_value()
            ? absl::StrCat("[", parameter.table->lowest, " .. ",
                           parameter.table->highest, "]")
        : of_head.rank() == 2 ? absl::StrCat(of_head[0], " x ", of_head[1])
        : of_head.rank() == 1 ? absl::StrCat(of_head[0])
                              : "scalar";
    absl::StrAppendFormat(&parameters, "  %-12s %-14s %d\n", parameter.name,
                          shape, size);
  }
  absl::StrAppend(&text, "Parameters: ", count, "\n", parameters);
  int64_t prepared = 0;
  for (const int n : graph.prepared) {
    prepared += std::max<int64_t>(graph.nodes[n].width, 1);
  }
  absl::StrAppend(&text, "Once per key, kept as ",
                  graph.prepared.empty() ? widths.key : prepared,
                  " numbers (Prepare):\n",
                  TermsOf(graph, graph.prepare_order, FormulaLevel::kKey),
                  "Once per query:\n",
                  TermsOf(graph, graph.score_order, FormulaLevel::kQuery),
                  "For each pair of query and key:\n",
                  TermsOf(graph, graph.score_order, FormulaLevel::kPair));
  Cost cost;
  for (const int t : graph.score_order) {
    const FormulaNode& node = graph.nodes[t];
    if (node.level == FormulaLevel::kPair) AddCost(graph, node, &cost);
  }
  absl::StrAppend(&text, "A pair costs ", cost.arithmetic,
                  " arithmetic operations and ", cost.transcendental,
                  " transcendental functions.\n");
  if (DecomposeIntoInnerProduct(graph).has_value()) {
    text += "With softmax, one fused kernel computes scores and context.\n";
  }
  return text;
}

std::string CheckFormula(const AttentionRegistry& scorers,
                         const FormulaScore& formula, int* failed) {
  Attention config;
  *config.mutable_formula() = formula;
  const ScorerInfo& info = *scorers.Find(config);
  *failed = 0;
  const std::optional<ScoreWidths> widths = TestWidths(info, formula);
  if (!widths.has_value()) {
    return "Not checked: the formula must accept queries and keys of width "
           "4.\n";
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
