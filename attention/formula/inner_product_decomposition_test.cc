#include "attention/formula/inner_product_decomposition.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attention/formula/compiler.h"
#include "attention/formula/node.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

FormulaGraph Compiled(const std::string& text) {
  FormulaGraph formula;
  std::vector<FormulaParameterInfo> declared;
  if (text.find("b[") != std::string::npos) {
    declared.push_back({.name = "b", .table = TableRange{-2, 2}});
  }
  const std::optional<FormulaProblem> problem = CompileFormula(
      text, {.query = 4, .key = 4, .query_input = 4, .key_input = 4}, declared,
      &formula);
  EXPECT_FALSE(problem.has_value()) << text << ": " << problem->message;
  return formula;
}

// Returns the terms as text, such as "+(q . k); query +sum(q); distance
// -abs((i - j))", or "none".
std::string TermsOf(const std::string& text) {
  const FormulaGraph formula = Compiled(text);
  const std::optional<InnerProductDecomposition> terms =
      DecomposeIntoInnerProduct(formula);
  if (!terms.has_value()) return "none";
  const auto written = [&](const InnerProductDecomposition::Term& term) {
    return (term.negative ? "-" : "+") + formula.Text(term.node);
  };
  std::string all = written(terms->product);
  for (const auto& [name, of] : {std::pair("query", &terms->of_query),
                                 {"key", &terms->of_key},
                                 {"distance", &terms->of_distance}}) {
    for (const InnerProductDecomposition::Term& term : *of) {
      all += std::string("; ") + name + " " + written(term);
    }
  }
  return all;
}

TEST(InnerProductDecompositionTest, ATermDependsOnTheQueryTheKeyOrTheDistance) {
  EXPECT_EQ(TermsOf("q . k"), "+(q . k)");
  EXPECT_EQ(TermsOf("q . k / 2 - abs(i - j)"),
            "+0.5 * (q . k); distance -abs((i - j))");
  EXPECT_EQ(TermsOf("q . k + sum(q) + i"), "+(q . k); query +(sum(q) + i)");
  EXPECT_EQ(TermsOf("q . k - norm(k) * j"),
            "+(q . k); key -(sqrt(sum(k^2)) * j)");
  EXPECT_EQ(TermsOf("3 - q . k"), "-(q . k); query +3");
  EXPECT_EQ(TermsOf("q . k / 2 + b[i - j] - head * b[abs(j - i)]"),
            "+0.5 * (q . k); distance +b[(i - j)]; distance "
            "-(b[abs((j - i))] * head)");
  EXPECT_EQ(TermsOf("q . k + b[i] - b[j]"), "+(q . k); query +b[i]; key -b[j]");
  EXPECT_EQ(TermsOf("(A x_i) . (B x_j) - s * sum(x_i)"),
            "+((A x_i) . (B x_j)); query -(sum(x_i) * s)");
}

TEST(InnerProductDecompositionTest, ADistanceIsAnyFunctionOfTheDifference) {
  for (const char* term :
       {"abs(i - j)", "(i - j)^2", "s * min(abs(j - i), 8)", "cos(f * (i - j))",
        "sum(tanh(w * (i - j)))", "where(i - j < 3, 1, s)", "b[i - j]",
        "s * b[min(abs(i - j), 3) + 1]", "b[where(i - j < 3, 1, j - i)]",
        "abs(i - j + 1) * abs(i - j)"}) {
    EXPECT_TRUE(
        DecomposeIntoInnerProduct(Compiled(std::string("q . k + ") + term))
            .has_value())
        << term;
  }
  for (const char* term :
       {"abs(i + j)", "abs(i - 2 * j)", "i * j", "cos(i) * cos(j)",
        "sum(q) * abs(i - j)", "where(i < 3, j, 1)", "(q . k)^2", "b[i + j]",
        "b[where(i < 3, i - j, 1)]", "b[min(i, j)]"}) {
    EXPECT_FALSE(
        DecomposeIntoInnerProduct(Compiled(std::string("q . k + ") + term))
            .has_value())
        << term;
  }
}

TEST(InnerProductDecompositionTest, OneProductIsNeeded) {
  EXPECT_EQ(TermsOf("abs(i - j)"), "none");
  EXPECT_EQ(TermsOf("sum(q) + sum(k)"), "none");
  EXPECT_EQ(TermsOf("tanh(q . k)"), "none");
  EXPECT_EQ(TermsOf("v . tanh(W q + U k)"), "none");
}

// A term that may be infinite must not be split off. A blocked kernel would add
// it to the inner product, and gradients would be NaN.
TEST(InnerProductDecompositionTest, TermsThatMayBeInfiniteAreNotSplitOff) {
  for (const char* term :
       {"log(0)", "log(relu(sum(k)))", "1 / (i - j)", "1 / norm(q)",
        "(1 + abs(i - j))^-1", "log(relu(3 - abs(i - j)))"}) {
    EXPECT_EQ(TermsOf(std::string("q . k + ") + term), "none") << term;
  }
  EXPECT_NE(TermsOf("q . k + abs(i - j)^0.5 / 3"), "none");
}

}  // namespace
}  // namespace regard
