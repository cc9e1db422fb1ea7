// Parses the text of a score formula into a tree:
//
//   v . tanh(W q + U k) - softplus(b) * abs(i - j)
//
// A formula is ASCII. Operators, from the highest precedence: calls and
// parentheses; `^` with a number as exponent; the right-associative product `W
// x` of a parameter and a vector; the inner product `.`, which does not chain;
// unary `-`; `*` and `/`; `+` and `-`. `<` is allowed only in `where(a < b, x,
// y)`. A name directly before `(` is a call. A name directly before `[` is a
// parameter with an index, such as `b[i - j]`. A dot between digits is a
// decimal point, any other dot is the inner product.
#ifndef ATTENTION_FORMULA_SYNTAX_H_
#define ATTENTION_FORMULA_SYNTAX_H_

#include <cstddef>
#include <optional>

#include "absl/strings/string_view.h"
#include "attention/formula/node.h"

namespace regard {

inline constexpr size_t kLongestFormula = 4096;  // characters
// Nesting depth of parentheses, calls, products and minus signs.
inline constexpr int kDeepestFormula = 64;

// Parses `text` into `formula`. Returns the first problem, or nullopt. Sets
// only the names of parameters.
std::optional<FormulaProblem> ParseFormula(absl::string_view text,
                                           FormulaGraph* formula);

}  // namespace regard

#endif  // ATTENTION_FORMULA_SYNTAX_H_
