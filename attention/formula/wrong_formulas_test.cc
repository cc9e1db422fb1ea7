// Tests the messages and positions of problems in invalid formulas.
#include <iterator>
#include <optional>
#include <string>

#include "attention/formula/compiler.h"
#include "attention/formula/node.h"
#include "attention/formula/types.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::HasSubstr;

struct WrongFormula {
  const char* formula;
  const char* caret;  // marks the start of the problem in the formula
  const char* message;
};

// In all formulas, the query has width 3 and the key has width 4.
constexpr WrongFormula kWrong[] = {
    {"", "^", "the formula is empty"},
    {"   ", "   ^", "the formula is empty"},
    {"tanh(q . W k", "            ^", "expected ')' at the end of tanh(x)"},
    {"(q . W k", "        ^", "expected ')' to close the '('"},
    {"q . W k)", "       ^", "this ')' closes nothing"},
    {"()", " ^", "this ')' closes nothing"},
    {"1 +", "   ^", "the formula ends where a value is expected"},
    {"1 + * 2", "    ^", "a value is expected before '*'"},
    {"* 2", "^", "a value is expected before '*'"},
    {"norm(q) norm(k)", "        ^", "an operator is missing after 'norm(q)'"},
    {"2 q", "  ^", "an operator is missing after '2'"},
    {"2(q)", " ^", "an operator is missing after '2'"},
    {"(W) q", "    ^", "only a parameter multiplies what follows it"},
    {"q W", "  ^", "an operator is missing after 'q'"},
    {"d q", "  ^", "only a parameter multiplies what follows it"},
    {"W^2 q", "    ^", "an operator is missing after 'W^2'"},
    {".5 * norm(q)", "^", "write 0.5, not .5"},
    {"2. * norm(q)", "^", "write 2.0 or 2"},
    {"2.", "^", "write 2.0 or 2"},
    {"1.2.3", "^", "is not a number: write numbers as"},
    {"2q", "^", "is not a number: write numbers as"},
    {"0x10", "^", "is not a number: write numbers as"},
    {"1e999", "^", "the number is too large"},
    {"sum(q) * 1e39", "         ^", "the number is too large"},
    {"sum(q) + 1e-50", "         ^",
     "the number is too small: it would become 0"},
    {"sum(q) * exp(1000)", "         ^", "this number is too large"},
    {"sum(q) - 3e38 - 3e38", "^", "this number is too large"},
    {"exp(-200) * sum(q)", "^", "this number is too small"},
    {"2 . k", "^", "'.' takes two vectors; '2' is a scalar, 'k' is a vector"},
    {"q . 5", "^", "'q' is a vector, '5' is a scalar"},
    {"q . W k . k", "        ^", "'.' does not chain"},
    {"q . -q", "    ^", "'.' binds tighter than '-'"},
    {"norm(q)^2^3", "         ^", "'^' does not chain"},
    {"norm(q)^i", "        ^", "the exponent of '^' must be a number"},
    {"norm(q)^(1 + 1)", "        ^", "the exponent of '^' must be a number"},
    {"tan(q . W k)", "^", "no function 'tan'; did you mean 'tanh'?"},
    {"W(q) . k", "^", "there is no function 'W'"},
    {"softmax(q . W k)", "^", "there is no function 'softmax'"},
    {"tanh q", "^", "'tanh' is a function: '(' must follow it directly"},
    {"tanh (norm(q))", "^", "'tanh' is a function"},
    {"tanh + 1", "^", "'tanh' is a function"},
    {"q(k)", "^", "there is no function 'q'"},
    {"min(1)", "     ^", "expected ',' in min(x, y), got ')'"},
    {"max(1, 2, 3)", "        ^", "expected ')' at the end of max(x, y)"},
    {"abs()", "    ^", "this ')' closes nothing"},
    {"i < j", "  ^", "'<' is allowed only in where(a < b, x, y)"},
    {"where(i, j, 0)", "       ^", "expected '<' in where(a < b, x, y)"},
    {"where(i < j < 1, 0, 1)", "            ^", "expected ','"},
    {"1, 2", " ^", "a ',' is allowed only between operands"},
    {"q . k", "^", "'q' has 3, 'k' has 4"},
    {"sum(q + k)", "    ^", "'q' has 3, 'k' has 4"},
    {"sum(W q) + sum(W k)", "               ^", "'W' has columns 3 by 'W q'"},
    {"b . q + b . k", "        ^", "'b' has 3 by 'b . q', character 1"},
    {"W + sum(W q)", "        ^", "'W' is a matrix in 'W q', character 9"},
    {"sum(W q) + W", "           ^", "but not at character 12"},
    {"W 2", "^", "a matrix must multiply a vector; '2' is a scalar"},
    {"sum(W norm(q))", "    ^",
     "'norm(q)' is a scalar. Multiply scalars with '*'"},
    {"sum(i)", "^", "sum takes a vector; 'i' is a scalar"},
    {"norm(2)", "^", "norm takes a vector"},
    {"q", "^", "a score must be a scalar, but this is a vector"},
    {"W q + b", "^", "a score must be a scalar"},
    {"1 / d", "    ^", "'d' requires a query and a key of the same width"},
    {"q . W k / 0", "^", "this divides by 0"},
    {"q . W k + log(-1)", "          ^", "this is not a number"},
    {"q \xC2\xB7 k", "  ^", "a formula must be ASCII"},
    {"q @ k", "  ^", "a formula cannot contain '@'"},
    {"_w . q", "^", "a formula cannot contain '_'"},
    {"i > j", "  ^", "a formula cannot contain '>'"},
    {"b[i - j] + q . W k", "^",
     "the range of the indices of 'b' is missing: declare it, as in parameter "
     "{ name: 'b' table { lowest: -8 highest: 8 } }"},
    {"b[]", "  ^", "an index is expected, as in b[i - j]"},
    {"b[i - j + 1", "           ^",
     "expected ']' after an index, as in b[i - j], but the formula ends"},
    {"b[i - j) + 1", "       ^", "expected ']' after an index, as in"},
    {"b] + 1", " ^", "this ']' closes nothing"},
    {"q[i]", " ^", "an index is allowed only after the name of a parameter"},
    {"b[i][j]", "    ^", "an index is allowed only after the name"},
    {"(W k)[i]", "     ^", "an index is allowed only after the name"},
    {"tanh[i]", "^", "'tanh' is a function"},
    {"b[q]", "  ^", "'q' is not allowed in an index, which is made of i, j"},
    {"b[i - c]", "      ^", "'c' is not allowed in an index"},
    {"b[c[i]]", "  ^", "'c[i]' is not allowed in an index"},
    {"b[head]", "  ^", "'head' is not allowed in an index"},
    {"b[i / 2]", "  ^", "'i / 2' is not allowed in an index"},
    {"b[i - 0.5]", "      ^", "a number in an index must be a whole one"},
    {"b[i - 65537]", "      ^", "a whole one of at most 65536"},
    {"b[abs(3)]", "  ^", "an index must depend on i or j, as in b[i - j]"},
    {"b[i - j] + b", "           ^",
     "'b' is a table in 'b[i - j]', character 1, but not at character 12"},
    {"b + b[i - j]", "    ^",
     "'b' is a table in 'b[i - j]', character 5, but not at character 1"},
    {"b[i] + sum(b q)", "           ^",
     "'b' is a matrix in 'b q', character 12, but not at character 1"},
    {"x_i . W x_i", "^",
     "'x_i' is the input of multi-head attention, which is not given here"},
    {"sum(q) + u . x_j", "             ^",
     "'x_j' is the input of multi-head attention without `latent`, which is"},
};

TEST(WrongFormulasTest, EachHasAMessageAtItsLocation) {
  EXPECT_GE(std::size(kWrong), 40u);
  for (const WrongFormula& wrong : kWrong) {
    FormulaGraph graph;
    const std::optional<FormulaProblem> problem =
        CompileFormula(wrong.formula, {.query = 3, .key = 4}, {}, &graph);
    ASSERT_TRUE(problem.has_value()) << wrong.formula;
    EXPECT_EQ(std::string(problem->range.begin, ' ') + "^", wrong.caret)
        << wrong.formula << ": " << problem->message;
    EXPECT_THAT(problem->message, HasSubstr(wrong.message)) << wrong.formula;
    EXPECT_GT(problem->range.length, 0u) << wrong.formula;
    EXPECT_EQ(problem->declared, -1);
  }
}

}  // namespace
}  // namespace regard
