// A score as a user types it, read into a tree:
//
//   v . tanh(W q + U k) - softplus(b) * abs(i - j)
//
// A formula is ASCII. Operators, tightest first: calls and parentheses; `^`
// with a number as exponent; the product `W x` of a parameter and a vector, to
// the right; the inner product `.`, which does not chain; unary `-`; `*` and
// `/`; `+` and `-`. `<` stands only in `where(a < b, x, y)`. A name directly
// before `(` is a call. A dot between digits is decimal, any other is the inner
// product.
#ifndef ATTENTION_FORMULA_SYNTAX_H_
#define ATTENTION_FORMULA_SYNTAX_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "files/config_text.h"

namespace regard {

inline constexpr size_t kLongestFormula = 4096;  // characters
// Parentheses, calls, products to the right and minus signs in one another.
inline constexpr int kDeepestFormula = 64;

enum class FormulaOp {
  kNumber,
  kName,     // q, k, i, j, d, dq, dk or a parameter
  kProduct,  // of a matrix and a vector
  kDot,
  kSum,
  kNorm,
  // The others are elementwise.
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kNegate,
  kPower,
  kTanh,
  kSigmoid,
  kRelu,
  kSoftplus,
  kExp,
  kLog,
  kAbs,
  kSqrt,
  kCos,
  kSin,
  kMin,
  kMax,
  kWhere,  // where(a < b, x, y); its operands are a, b, x and y
};

struct FormulaNode {
  FormulaOp op = FormulaOp::kNumber;
  std::vector<int> operands = {};  // indices of earlier nodes
  TextRange range = {};            // in the formula, parentheses apart
  std::string name = {};           // of a kName
  double number = 0;               // of a kNumber; the exponent of a kPower
};

struct FormulaTree {
  std::string text;
  std::vector<FormulaNode> nodes;  // operands first; the last is the root

  // Whether i or j occurs.
  bool UsesPositions() const;
  // What a node was written as, cut to 40 characters, in quotes.
  std::string Quoted(const FormulaNode& node) const;
};

// Reads `text` into `formula`, or says what is wrong first.
std::optional<TextProblem> ParseFormula(absl::string_view text,
                                        FormulaTree* formula);

// Whether `name` is q, k, i, j, d, dq, dk or a function.
bool IsReservedInFormulas(absl::string_view name);

// "tanh"; "" of operators.
absl::string_view FormulaFunctionName(FormulaOp op);

// Whether the result for each element depends on the operands' elements alone.
bool IsElementwise(FormulaOp op);

}  // namespace regard

#endif  // ATTENTION_FORMULA_SYNTAX_H_
