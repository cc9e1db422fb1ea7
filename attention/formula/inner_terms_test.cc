#include "attention/formula/inner_terms.h"

#include <optional>
#include <string>
#include <utility>

#include "attention/formula/compiler.h"
#include "attention/formula/node.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

FormulaGraph Compiled(const std::string& text) {
  FormulaGraph formula;
  const std::optional<FormulaProblem> problem =
      CompileFormula(text, {4, 4, 4}, {}, &formula);
  EXPECT_FALSE(problem.has_value()) << text << ": " << problem->message;
  return formula;
}

// "+(q . k); query +sum(q); distance -abs((i - j))".
std::string TermsOf(const std::string& text) {
  const FormulaGraph formula = Compiled(text);
  const std::optional<InnerTerms> terms = FindInnerTerms(formula);
  if (!terms.has_value()) return "none";
  const auto written = [&](const InnerTerms::Term& term) {
    return (term.negative ? "-" : "+") + formula.Text(term.node);
  };
  std::string all = written(terms->product);
  for (const auto& [name, of] : {std::pair("query", &terms->of_query),
                                 {"key", &terms->of_key},
                                 {"distance", &terms->of_distance}}) {
    for (const InnerTerms::Term& term : *of) {
      all += std::string("; ") + name + " " + written(term);
    }
  }
  return all;
}

TEST(InnerTermsTest, ATermIsOfTheQueryTheKeyOrTheDistance) {
  EXPECT_EQ(TermsOf("q . k"), "+(q . k)");
  EXPECT_EQ(TermsOf("q . k / 2 - abs(i - j)"),
            "+0.5 * (q . k); distance -abs((i - j))");
  EXPECT_EQ(TermsOf("q . k + sum(q) + i"), "+(q . k); query +(sum(q) + i)");
  EXPECT_EQ(TermsOf("q . k - norm(k) * j"),
            "+(q . k); key -(sqrt(sum(k^2)) * j)");
  EXPECT_EQ(TermsOf("3 - q . k"), "-(q . k); query +3");
}

TEST(InnerTermsTest, ADistanceIsAnyFunctionOfTheDifference) {
  for (const char* term :
       {"abs(i - j)", "(i - j)^2", "s * min(abs(j - i), 8)", "cos(f * (i - j))",
        "sum(tanh(w * (i - j)))", "where(i - j < 3, 1, s)",
        "abs(i - j + 1) * abs(i - j)"}) {
    EXPECT_TRUE(
        FindInnerTerms(Compiled(std::string("q . k + ") + term)).has_value())
        << term;
  }
  for (const char* term :
       {"abs(i + j)", "abs(i - 2 * j)", "i * j", "cos(i) * cos(j)",
        "sum(q) * abs(i - j)", "where(i < 3, j, 1)", "(q . k)^2"}) {
    EXPECT_FALSE(
        FindInnerTerms(Compiled(std::string("q . k + ") + term)).has_value())
        << term;
  }
}

TEST(InnerTermsTest, OneProductIsNeeded) {
  EXPECT_EQ(TermsOf("abs(i - j)"), "none");
  EXPECT_EQ(TermsOf("sum(q) + sum(k)"), "none");
  EXPECT_EQ(TermsOf("tanh(q . k)"), "none");
  EXPECT_EQ(TermsOf("v . tanh(W q + U k)"), "none");
}

// Blocks join terms to the product, whose gradients an infinity would make NaN.
TEST(InnerTermsTest, ATermThatMayBeInfiniteIsNoTerm) {
  for (const char* term :
       {"log(0)", "log(relu(sum(k)))", "1 / (i - j)", "1 / norm(q)",
        "(1 + abs(i - j))^-1", "log(relu(3 - abs(i - j)))"}) {
    EXPECT_EQ(TermsOf(std::string("q . k + ") + term), "none") << term;
  }
  EXPECT_NE(TermsOf("q . k + abs(i - j)^0.5 / 3"), "none");
}

}  // namespace
}  // namespace regard
