#include "attention/formula/syntax.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "attention/formula/node.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

const char* SymbolOf(FormulaOp op) {
  switch (op) {
    case FormulaOp::kAdd:
      return "+";
    case FormulaOp::kSubtract:
      return "-";
    case FormulaOp::kMultiply:
      return "*";
    case FormulaOp::kDivide:
      return "/";
    case FormulaOp::kNegate:
      return "neg";
    case FormulaOp::kPower:
      return "^";
    case FormulaOp::kProduct:
      return "product";
    case FormulaOp::kDot:
      return ".";
    case FormulaOp::kElement:
      return "[]";
    default:
      return nullptr;
  }
}

// Returns the tree in prefix notation, with all parentheses.
std::string Shown(const FormulaGraph& tree, int index) {
  const FormulaNode& node = tree.nodes[index];
  if (node.operands.empty()) return tree.Text(index);
  const char* symbol = SymbolOf(node.op);
  std::string shown = absl::StrCat(
      "(",
      symbol != nullptr ? symbol : FormulaOpInfoFor<double>(node.op).name());
  for (const int operand : node.operands) {
    absl::StrAppend(&shown, " ", Shown(tree, operand));
  }
  return shown + ")";
}

std::string Parsed(const std::string& text) {
  FormulaGraph tree;
  const std::optional<FormulaProblem> problem = ParseFormula(text, &tree);
  if (problem.has_value()) return problem->message;
  return Shown(tree, tree.root);
}

TEST(SyntaxTest, Precedence) {
  const struct {
    const char* formula;
    const char* tree;
  } kCases[] = {
      {"(W q) . k / sqrt(d)", "(/ (. (product W q) k) (sqrt d))"},
      {"W q . k", "(. (product W q) k)"},
      {"q . W k", "(. q (product W k))"},
      {"A B x", "(product A (product B x))"},
      {"W q^2", "(product W (^ q 2))"},
      {"W -q", "(- W q)"},
      {"W - q", "(- W q)"},
      {"-q . k", "(neg (. q k))"},
      {"-W q", "(neg (product W q))"},
      {"-a^2", "(neg (^ a 2))"},
      {"- -a", "(neg (neg a))"},
      {"a * -b", "(* a (neg b))"},
      {"-a * b", "(* (neg a) b)"},
      {"a - b - c", "(- (- a b) c)"},
      {"a - b + c", "(+ (- a b) c)"},
      {"a / b / c", "(/ (/ a b) c)"},
      {"a / b * c", "(* (/ a b) c)"},
      {"a + b * c", "(+ a (* b c))"},
      {"a * b . c", "(* a (. b c))"},
      {"2 * q . k", "(* 2 (. q k))"},
      {"(a + b) * c", "(* (+ a b) c)"},
      {"x^-1", "(^ x -1)"},
      {"(x^2)^3", "(^ (^ x 2) 3)"},
      {"sum(q)^2", "(^ (sum q) 2)"},
      {"W tanh(q)", "(product W (tanh q))"},
      {"W (q + k)", "(product W (+ q k))"},
      {"v . tanh(W q + U k) - softplus(b) * abs(i - j)",
       "(- (. v (tanh (+ (product W q) (product U k)))) (* (softplus b) (abs "
       "(- i j))))"},
      {"where(i < j + 1, 0, -1)", "(where i (+ j 1) 0 (neg 1))"},
      {"min(a, max(b, c))", "(min a (max b c))"},
      {"q . k + b[i - j]^2", "(+ (. q k) (^ ([] b (- i j)) 2))"},
      {"-b [abs(j)] * W x_i", "(* (neg ([] b (abs j))) (product W x_i))"},
      {"exp(log(cos(sin(sigmoid(relu(norm(q)))))))",
       "(exp (log (cos (sin (sigmoid (relu (norm q)))))))"},
  };
  for (const auto& test : kCases) {
    EXPECT_EQ(Parsed(test.formula), test.tree) << test.formula;
  }
}

TEST(SyntaxTest, ADotBetweenDigitsIsDecimal) {
  EXPECT_EQ(Parsed("0.5"), "0.5");
  EXPECT_EQ(Parsed("12"), "12");
  EXPECT_EQ(Parsed("1e-3"), "0.001");
  EXPECT_EQ(Parsed("1.5E+2"), "150");
  EXPECT_EQ(Parsed("q.k"), "(. q k)");
  EXPECT_EQ(Parsed("a1.k"), "(. a1 k)");
  EXPECT_EQ(Parsed("q .k"), "(. q k)");
  EXPECT_EQ(Parsed("q . 5"), "(. q 5)");
}

TEST(SyntaxTest, WhiteSpaceAndNames) {
  EXPECT_EQ(Parsed(" \tq\n.\nk "), "(. q k)");
  EXPECT_EQ(Parsed("W_q1 q . k"), "(. (product W_q1 q) k)");
  EXPECT_EQ(Parsed("dq2 + tanhs"), "(+ dq2 tanhs)");
}

TEST(SyntaxTest, LocationsAreInTheText) {
  FormulaGraph tree;
  ASSERT_FALSE(ParseFormula("  (W q) . k - 1", &tree).has_value());
  const FormulaNode& root = tree.nodes.back();
  EXPECT_EQ(tree.SourceText(root), "(W q) . k - 1");
  EXPECT_EQ(root.range.begin, 2u);
  EXPECT_EQ(tree.SourceText(tree.nodes[root.operands[0]]), "(W q) . k");
}

TEST(SyntaxTest, PositionsAreUsedByName) {
  FormulaGraph tree;
  ASSERT_FALSE(ParseFormula("abs(i - 2)", &tree).has_value());
  EXPECT_TRUE(tree.UsesPositions());
  ASSERT_FALSE(ParseFormula("ii * q . jj", &tree).has_value());
  EXPECT_FALSE(tree.UsesPositions());
}

std::string Repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

TEST(SyntaxTest, DepthAndLengthAreBounded) {
  const auto nested = [](int depth) {
    return Parsed(Repeated("(", depth) + "1" + Repeated(")", depth));
  };
  EXPECT_EQ(nested(kDeepestFormula), "1");
  EXPECT_EQ(nested(kDeepestFormula + 1),
            "the formula is nested deeper than 64");
  EXPECT_EQ(nested(2000), "the formula is nested deeper than 64");
  EXPECT_EQ(Parsed(Repeated("-", 65) + "1"),
            "the formula is nested deeper than 64");
  EXPECT_EQ(Parsed(Repeated("A ", 65) + "q"),
            "the formula is nested deeper than 64");
  EXPECT_EQ(Parsed(Repeated("abs(", 65) + "1"),
            "the formula is nested deeper than 64");
  const std::string longest = Repeated("1+", kLongestFormula / 2 - 1) + "11";
  EXPECT_EQ(longest.size(), kLongestFormula);
  EXPECT_NE(Parsed(longest).find("(+"), std::string::npos);
  EXPECT_EQ(Parsed(longest + "1"),
            "a formula has at most 4096 characters; this one has 4097");
}

}  // namespace
}  // namespace regard
