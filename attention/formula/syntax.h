// A score as a user types it, read into a tree:
//
//   v . tanh(W q + U k) - softplus(b) * abs(i - j)
//
// A formula is ASCII. Operators, tightest first: calls and parentheses; `^`
// with a number as exponent; the product `W x` of a parameter and a vector, to
// the right; the inner product `.`, which does not chain; unary `-`; `*` and
// `/`; `+` and `-`. `<` stands only in `where(a < b, x, y)`. A name directly
// before `(` is a call, and one before `[` a parameter with an index, such as
// `b[i - j]`. A dot between digits is decimal, any other is the inner product.
#ifndef ATTENTION_FORMULA_SYNTAX_H_
#define ATTENTION_FORMULA_SYNTAX_H_

#include <cstddef>
#include <optional>

#include "absl/strings/string_view.h"
#include "attention/formula/node.h"

namespace regard {

inline constexpr size_t kLongestFormula = 4096;  // characters
// Parentheses, calls, products to the right and minus signs in one another.
inline constexpr int kDeepestFormula = 64;

// Reads `text` into `formula`, or says what is wrong first. Of parameters, only
// the names are known.
std::optional<FormulaProblem> ParseFormula(absl::string_view text,
                                           FormulaGraph* formula);

}  // namespace regard

#endif  // ATTENTION_FORMULA_SYNTAX_H_
