// Which parts of a formula are scalars and which vectors, and the parameters
// that it needs.
//
// Names other than q, k, i, j, d, dq and dk are parameters: a matrix left of a
// product; a vector where `.`, sum, norm, the right side of a product, or `+`
// and `-` beside a vector need one; else a scalar. What no use and no
// declaration says of an axis is the formula's width.
#ifndef ATTENTION_FORMULA_TYPES_H_
#define ATTENTION_FORMULA_TYPES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "attention/formula/syntax.h"
#include "files/config_text.h"

namespace regard {

struct FormulaWidths {
  int64_t query = 0;
  int64_t key = 0;
  int64_t free = 0;  // of axes that nothing else determines; 0: the query's
};

// What the user says of a parameter; 0 and nullopt: nothing.
struct DeclaredParameter {
  std::string name;
  int64_t rows = 0;
  int64_t columns = 0;
  std::optional<double> initial = {};
};

struct InferredParameter {
  std::string name;
  int64_t rows = 0;     // of a matrix; the width of a vector; 0: a scalar
  int64_t columns = 0;  // of a matrix, else 0
  std::optional<double> initial = {};
  bool is_term = false;  // every use is that of a vector in a sum
};

// Of a scalar.
inline constexpr int64_t kScalarWidth = 0;

struct FormulaTypes {
  FormulaWidths of;
  std::vector<int64_t> widths;  // of each node; of a matrix, its rows
  std::vector<InferredParameter> parameters;  // in the order of their first use
  std::vector<int> parameter_of;              // of each node, an index, or -1
};

struct FormulaProblem {
  TextRange range = {};  // in the formula, unless `declared` says otherwise
  std::string message;
  int declared = -1;  // which declaration it is about
};

// Infers the types of a parsed formula, or says what is wrong first. The order
// of uses changes no type.
std::optional<FormulaProblem> InferFormulaTypes(
    const FormulaTree& formula, const FormulaWidths& widths,
    absl::Span<const DeclaredParameter> declared, FormulaTypes* types);

}  // namespace regard

#endif  // ATTENTION_FORMULA_TYPES_H_
