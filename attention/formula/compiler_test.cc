#include "attention/formula/compiler.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "attention/formula/node.h"
#include "attention/formula/types.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

FormulaGraph Compiled(const std::string& text,
                      const std::vector<FormulaParameterInfo>& declared = {}) {
  FormulaGraph graph;
  const auto problem =
      CompileFormula(text, {.query = 4, .key = 4}, declared, &graph);
  EXPECT_FALSE(problem.has_value()) << text << ": " << problem->message;
  return graph;
}

// Returns the nodes that Prepare() stores and the rest of the formula, such as
// "k | 0.5 * (q . k)".
std::string Lowered(const std::string& text,
                    const std::vector<FormulaParameterInfo>& declared = {}) {
  const FormulaGraph graph = Compiled(text, declared);
  std::vector<std::string> stored;
  for (const int node : graph.prepared) stored.push_back(graph.Text(node));
  return absl::StrCat(absl::StrJoin(stored, ", "), " | ",
                      graph.Text(graph.root));
}

TEST(CompilerTest, InnerProductsTakeAllFactors) {
  const struct {
    const char* formula;
    const char* lowered;
  } kCases[] = {
      {"q . k", "k | (q . k)"},
      {"k . q", "k | (q . k)"},
      {"sum(q * k)", "k | (q . k)"},
      {"q . k / sqrt(d)", "k | 0.5 * (q . k)"},
      {"-2 * q . k / d", "k | -0.5 * (q . k)"},
      {"(W q) . k", "k | ((W q) . k)"},
      {"q . W k", "(W k) | (q . (W k))"},
      {"s * q . k", "k | ((q * s) . k)"},
      {"q . k / (norm(q) * norm(k))",
       "(k / sqrt(sum(k^2))) | ((q / sqrt(sum(q^2))) . (k / sqrt(sum(k^2))))"},
      {"q . k * relu(j - 3)",
       "(k * relu((j + -3))) | (q . (k * relu((j + "
       "-3))))"},
  };
  for (const auto& test : kCases) {
    EXPECT_EQ(Lowered(test.formula), test.lowered) << test.formula;
  }
}

TEST(CompilerTest, AHiddenLayerIsFused) {
  const struct {
    const char* formula;
    const char* lowered;
  } kCases[] = {
      {"v . tanh(W q + U k)", "(U k) | (v . tanh((W q) + (U k)))"},
      {"tanh(U k + W q) . v", "(U k) | (v . tanh((W q) + (U k)))"},
      {"v . tanh(W q + b + U k)",
       "((U k) + b) | (v . tanh((W q) + ((U k) + b)))"},
      {"v . tanh(W q - U k)", "(-(U k)) | (v . tanh((W q) + (-(U k))))"},
      {"v . tanh(W (q + k))", "(W k) | (v . tanh((W q) + (W k)))"},
      {"v . tanh(2 * (W q + U k))",
       "((U k) * 2) | (v . tanh(((W q) * 2) + ((U k) * 2)))"},
      {"s * v . tanh(W q + U k) / 2",
       "(U k) | (((v * s) * 0.5) . tanh((W q) + (U k)))"},
      {"w . q + v . tanh(W q + U k) + u . k",
       "(U k), (u . k) | (((v . tanh((W q) + (U k))) + (w . q)) + (u . k))"},
  };
  for (const auto& test : kCases) {
    EXPECT_EQ(Lowered(test.formula), test.lowered) << test.formula;
  }
}

TEST(CompilerTest, SquaredDistancesAreFused) {
  for (const char* formula :
       {"sum((q - k)^2)", "norm(q - k)^2", "(q - k) . (q - k)",
        "(k - q) . (k - q)", "sum((k - q)^2)"}) {
    EXPECT_EQ(Lowered(formula), "k | sum((q - k)^2)") << formula;
  }
  EXPECT_EQ(Lowered("-norm(q - k)^2 / 2"), "k | -0.5 * sum((q - k)^2)");
  EXPECT_EQ(Lowered("norm(q + k)"), "(-k) | sqrt(sum((q - (-k))^2))");
  EXPECT_EQ(Lowered("norm(w * (q - k))"),
            "(k * w) | sqrt(sum(((q * w) - (k * w))^2))");
}

TEST(CompilerTest, FewOperationsRemainPerPair) {
  EXPECT_EQ(Lowered("a * (i + 1) * 2 - abs(i - j) * b"),
            " | (((i + 1) * (a * 2)) - (abs((i - j)) * b))");
  EXPECT_EQ(Lowered("v . (tanh(q) * tanh(k))"),
            "tanh(k) | (v . (tanh(q) * tanh(k)))");
  EXPECT_EQ(Lowered("sum(tanh(q) + tanh(k))"),
            "sum(tanh(k)) | (sum(tanh(q)) + sum(tanh(k)))");
  EXPECT_EQ(Lowered("norm(k)"), "sqrt(sum(k^2)) | sqrt(sum(k^2))");
  EXPECT_EQ(Lowered("relu(j - 3) - i"), " | (relu((j + -3)) - i)");
  EXPECT_EQ(Lowered("3 - 1 - 2 + 4 * 0.5"), " | 2");
  EXPECT_EQ(Lowered("where(1 < 2, 3, s)"), " | where(1 < 2, 3, s)");
  EXPECT_EQ(Lowered("-a - b"), " | (-(a + b))");
  EXPECT_EQ(Lowered("1 / norm(q) / norm(k)"),
            "sqrt(sum(k^2)) | (1 / (sqrt(sum(q^2)) * sqrt(sum(k^2))))");
}

TEST(CompilerTest, TableElementsDependOnTheVariablesOfTheirIndex) {
  const std::vector<FormulaParameterInfo> declared = {
      {.name = "b", .table = TableRange{0, 2}}};
  const auto lowered = [&](const char* formula) {
    return Lowered(formula, declared);
  };
  EXPECT_EQ(lowered("q . k / 2 + b[i - j]"),
            "k | (0.5 * (q . k) + b[(i - j)])");
  EXPECT_EQ(lowered("b[j - i - 3 + 1]"), " | b[((j + -2) - i)]");
  EXPECT_EQ(lowered("b[i] * q . k * b[j]"),
            "(k * b[j]) | ((q * b[i]) . (k * b[j]))");
  EXPECT_EQ(lowered("b[i - j] * 2 + b[i - j] / head"),
            " | ((b[(i - j)] * 2) + (b[(i - j)] / head))");
}

TEST(CompilerTest, EqualPartsAreComputedOnce) {
  const FormulaGraph graph =
      Compiled("norm(W q) * norm(W q) + tanh(norm(W q))");
  int products = 0;
  for (const int node : graph.score_order) {
    products += graph.nodes[node].op == FormulaOp::kProduct;
  }
  EXPECT_EQ(products, 1);
}

TEST(CompilerTest, NumbersAreFolded) {
  EXPECT_EQ(Lowered("sqrt(4) * exp(0) - log(1) + abs(-3) + 2^3"), " | 13");
  EXPECT_EQ(Lowered("log(0)"), " | -inf");
}

TEST(CompilerTest, ConstantsThatAreNotNumbersAreProblems) {
  FormulaGraph graph;
  for (const char* formula :
       {"q . k + log(-1)", "sqrt(2 - 3)", "q . k / (1 - 1)", "(-8)^0.5"}) {
    const auto problem =
        CompileFormula(formula, {.query = 4, .key = 4}, {}, &graph);
    ASSERT_TRUE(problem.has_value()) << formula;
    EXPECT_GT(problem->range.length, 0u);
  }
}

}  // namespace
}  // namespace regard
