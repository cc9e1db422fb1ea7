// Parses the text of a score formula into a tree. An example of a formula is
//
//   v . tanh(W q + U k) - softplus(b) * abs(i - j)
//
// A formula is ASCII. The operators, from the highest precedence to the lowest:
//
//   f(x)  a[i]  (x)   calls, indices of parameters, and parentheses
//   x^2               powers; the exponent is a number
//   W x               products of a parameter and a vector, right-associative
//   x . y             inner products, not associative
//   -x
//   x * y  x / y
//   x + y  x - y
//
// `<` is allowed only in `where(a < b, x, y)`. A name directly before `(` is a
// call, and a name directly before `[` is a parameter with an index. A dot
// between digits is a decimal point. Any other dot is the inner product.
#ifndef ATTENTION_FORMULA_SYNTAX_H_
#define ATTENTION_FORMULA_SYNTAX_H_

#include <cstddef>
#include <optional>

#include "absl/strings/string_view.h"
#include "attention/formula/node.h"

namespace regard {

inline constexpr size_t kLongestFormula = 4096;  // characters
// Maximum nesting depth of parentheses, calls, products and minus signs.
inline constexpr int kDeepestFormula = 64;

// Parses `text` into `formula`. Returns the first problem, or nullopt. Sets the
// names of parameters, but not their shapes.
std::optional<FormulaProblem> ParseFormula(absl::string_view text,
                                           FormulaGraph* formula);

}  // namespace regard

#endif  // ATTENTION_FORMULA_SYNTAX_H_
