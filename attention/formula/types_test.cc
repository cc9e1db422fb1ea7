#include "attention/formula/types.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "attention/formula/node.h"
#include "attention/formula/syntax.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

constexpr FormulaWidths kWidths = {.query = 3, .key = 4, .free = 5};

// Returns the parameters, such as "W 5x3, v 5, b", or the problem.
std::string Inferred(const std::string& text,
                     const std::vector<FormulaParameterInfo>& declared = {},
                     const FormulaWidths& widths = kWidths) {
  FormulaGraph tree;
  if (const auto problem = ParseFormula(text, &tree)) return problem->message;
  if (const auto problem = InferFormulaTypes(widths, declared, &tree)) {
    return problem->message;
  }
  std::string all;
  for (const FormulaParameterInfo& parameter : tree.parameters) {
    absl::StrAppend(&all, all.empty() ? "" : ", ", parameter.name);
    if (parameter.rows > 0) absl::StrAppend(&all, " ", parameter.rows);
    if (parameter.columns > 0) absl::StrAppend(&all, "x", parameter.columns);
    if (parameter.table.has_value()) {
      absl::StrAppend(&all, " ", parameter.table->lowest, "..",
                      parameter.table->highest);
    }
    if (parameter.is_term) all += " term";
  }
  return all;
}

TEST(TypesTest, AUseDecidesTheShape) {
  const struct {
    const char* formula;
    const char* parameters;
  } kCases[] = {
      {"0", ""},
      {"(W q) . k", "W 4x3"},
      {"q . W k", "W 3x4"},
      {"v . tanh(W q + U k)", "v 5, W 5x3, U 5x4"},
      {"v . tanh(W q + U k + b)", "v 5, W 5x3, U 5x4, b 5 term"},
      {"v . tanh(W q + (b - c) + U k)",
       "v 5, W 5x3, b 5 term, c 5 term, U 5x4"},
      {"(A B q) . k", "A 4x5, B 5x3"},
      {"s * sum(q) + b", "s, b"},
      {"softplus(b) * abs(i - j)", "b"},
      {"sum(tanh(b) * q)", "b"},
      {"sum(tanh(b))", "b 5"},
      {"sum(a * b)", "a 5, b 5"},
      {"sum(q * s)", "s"},
      {"norm(W v)", "W 5x5, v 5"},
      // A parameter becomes a vector if it is itself a term of a sum with a
      // vector. A parameter inside a term stays a scalar.
      {"sum(W q + tanh(b))", "W 5x3, b"},
      {"sum(W q + 2 * b)", "W 5x3, b"},
      {"sum(q - b)", "b 3 term"},
      {"sum(q - b) + sum(b * q)", "b 3"},
      {"sum(max(W q, U k))", "W 5x3, U 5x4"},
      {"where(i < j, (W q) . k, s)", "W 4x3, s"},
      {"sum(where(u < q, q, 0))", "u"},
  };
  for (const auto& test : kCases) {
    EXPECT_EQ(Inferred(test.formula), test.parameters) << test.formula;
  }
}

TEST(TypesTest, TheOrderOfUsesChangesNothing) {
  const auto same = [](const char* a, const char* b, const char* of_a,
                       const char* of_b) {
    EXPECT_EQ(Inferred(a), of_a);
    EXPECT_EQ(Inferred(b), of_b);
  };
  same("sum(a * b) + sum(b)", "sum(b) + sum(a * b)", "a 5, b 5", "b 5, a 5");
  same("a * norm(q) + a . q", "a . q + a * norm(q)",
       "a score must be a scalar, but this is a vector: reduce it with "
       "sum(..), norm(..) or '.'",
       "a score must be a scalar, but this is a vector: reduce it with "
       "sum(..), norm(..) or '.'");
  same("u . (A q) + u . k", "u . k + u . (A q)", "u 4, A 4x3", "u 4, A 4x3");
}

TEST(TypesTest, WidthZeroMeansTheWidthOfTheQuery) {
  EXPECT_EQ(Inferred("v . (W k)", {}, {.query = 3, .key = 4}), "v 3, W 3x4");
}

TEST(TypesTest, OneWidthHasAName) {
  EXPECT_EQ(Inferred("dq + dk"), "");
  EXPECT_EQ(Inferred("q . k / d", {}, {.query = 4, .key = 4}), "");
  EXPECT_EQ(Inferred("1 / d"),
            "'d' requires a query and a key of the same width, but dq is 3 and "
            "dk is 4");
}

TEST(TypesTest, DeclarationsComeFirst) {
  EXPECT_EQ(Inferred("v . tanh(W q)", {{"v", 7}}), "v 7, W 7x3");
  EXPECT_EQ(Inferred("v . (A B q)", {{"B", 2}, {"v", 7}}), "v 7, A 7x2, B 2x3");
  EXPECT_EQ(Inferred("sum(g * q)", {{"g", 3}}), "g 3");
  EXPECT_EQ(Inferred("(W q) . k", {{"W", 4, 3}}), "W 4x3");
}

TEST(TypesTest, ATableHasItsRangeAndIsAScalarElsewhere) {
  const FormulaParameterInfo b = {.name = "b", .table = TableRange{-3, 5}};
  EXPECT_EQ(Inferred("(W q) . k + b[i - j]", {b}), "W 4x3, b -3..5");
  EXPECT_EQ(Inferred("sum(q * b[i])", {b}), "b -3..5");
  EXPECT_EQ(Inferred("sum(b[i - j])", {b}),
            "sum takes a vector; 'b[i - j]' is a scalar");
  EXPECT_EQ(Inferred("q . W k * b[i] / b[j]",
                     {{.name = "b", .initial = 1, .table = TableRange{2, 2}}}),
            "W 3x4, b 2..2");
}

TEST(TypesTest, AScalarMayBeDeclared) {
  EXPECT_EQ(Inferred("sum(q - s)", {{"s"}}), "s 3 term");
  const FormulaParameterInfo s = {.name = "s", .is_scalar = true};
  EXPECT_EQ(Inferred("sum(q - s)", {s}), "s");
  EXPECT_EQ(Inferred("v . tanh(W q + U k + s)", {s}), "v 5, W 5x3, U 5x4, s");
  EXPECT_EQ(Inferred("s . q", {s}),
            "'.' takes two vectors; 's' is a scalar, 'q' is a vector");
}

TEST(TypesTest, InputsHaveTheirWidths) {
  FormulaWidths widths = kWidths;
  widths.query_input = 6;
  widths.key_input = 7;
  EXPECT_EQ(Inferred("(A x_i) . (B x_j) + u . x_i", {}, widths),
            "A 5x6, B 5x7, u 6");
  EXPECT_EQ(Inferred("x_i . x_j", {}, widths),
            "'.' takes two vectors of the same width: 'x_i' has 6, 'x_j' has "
            "7");
  EXPECT_EQ(Inferred("head * heads"), "");
}

TEST(TypesTest, RejectsMismatchedKinds) {
  const FormulaParameterInfo b = {.name = "b", .table = TableRange{0, 4}};
  EXPECT_EQ(Inferred("b * sum(q)", {b}),
            "'b' has a table here, but the formula gives it no index, as in "
            "b[i - j]");
  EXPECT_EQ(Inferred("b[i]", {{.name = "b", .rows = 3}}),
            "'b' has rows here, but an index in the formula: declare its "
            "`table`");
  EXPECT_EQ(
      Inferred("b[i]", {{.name = "b", .rows = 3, .table = TableRange{0, 4}}}),
      "'b' has rows here, but an index in the formula: declare its "
      "`table`");
  EXPECT_EQ(Inferred("b[i]", {{.name = "b", .table = TableRange{5, 4}}}),
            "'b' has a table whose lowest index, 5, is above its highest, 4");
  EXPECT_EQ(
      Inferred("b[i]",
               {{.name = "b", .table = TableRange{0, 4}, .is_scalar = true}}),
      "'b' is a scalar here, but a table in the formula");
  EXPECT_EQ(Inferred("sum(W q)", {{.name = "W", .is_scalar = true}}),
            "'W' is a scalar here, but a matrix in the formula");
  EXPECT_EQ(
      Inferred("sum(q + s)", {{.name = "s", .rows = 3, .is_scalar = true}}),
      "'s' is a scalar here, but has rows, too: remove one of them");
  EXPECT_EQ(Inferred("b[i]",
                     {{.name = "b", .columns = 3, .table = TableRange{0, 4}}}),
            "'b' has columns here, but no product has it as its matrix");
}

TEST(TypesTest, RejectsInvalidDeclarations) {
  EXPECT_EQ(Inferred("(W q) . k", {{"W", 5}}),
            "'.' takes two vectors of the same width: 'W q' has 5, 'k' has 4");
  EXPECT_EQ(Inferred("(W q) . k", {{"W", 0, 7}}),
            "'W' has columns 7, but 'q' has width 3");
  EXPECT_EQ(Inferred("(Wq q) . k", {{"Wk"}}),
            "the formula has no parameter 'Wk'; did you mean 'Wq'?");
  EXPECT_EQ(Inferred("s + 1", {{"s", 0, 2}}),
            "'s' has columns here, but no product has it as its matrix");
  EXPECT_EQ(Inferred("s + 1", {{"s"}, {"s"}}), "'s' is declared twice");
  EXPECT_EQ(Inferred("q . W k", {{"q", 3}}),
            "the formula has no parameter 'q'; did you mean 'W'?");
}

TEST(TypesTest, AWidthIsExplainedByTheUseThatGaveIt) {
  EXPECT_EQ(Inferred("sum(W q) + sum(W k)"),
            "'W' has columns 3 by 'W q', character 5, but 'k' has width 4");
  EXPECT_EQ(Inferred("b . q + b . k"),
            "'.' takes two vectors of the same width: 'b' has 3 by 'b . q', "
            "character 1, 'k' has 4");
  EXPECT_EQ(Inferred("W * sum(q) + sum(W q)"),
            "'W' is a matrix in 'W q', character 18, but not at character 1");
}

}  // namespace
}  // namespace regard
