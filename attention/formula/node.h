// A formula as a list of nodes, and the table of operations: how each is
// written, and the values of those that work on each element.
//
// syntax.h reads a text into nodes, which are a tree; types.h infers widths;
// compiler.h regroups the tree into what is computed; evaluation.h computes it.
#ifndef ATTENTION_FORMULA_NODE_H_
#define ATTENTION_FORMULA_NODE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "autodiff/shape.h"
#include "autodiff/tape.h"
#include "options/config_text.h"

namespace regard {

enum class FormulaOp {
  kNumber,
  kParameter,  // a vector or a scalar
  kMatrix,     // a parameter left of a product
  kTable,      // a parameter with an index
  kQueries,    // q, and below k, x_i, x_j, head, heads, i, j, d, dq and dk
  kKeys,
  kQueryInput,  // x_i
  kKeyInput,
  kHead,
  kHeads,
  kQueryPosition,
  kKeyPosition,
  kWidth,
  kQueryWidth,
  kKeyWidth,
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
  kSum,
  kNorm,
  kMin,
  kMax,
  kWhere,  // where(a < b, x, y); its operands are a, b, x and y
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kNegate,
  kElement,  // of a table, at an index
  kPower,    // its second operand is a number
  kProduct,  // of a matrix and a vector
  kDot,
  // The others come from lowering. f is a number.
  kRoot,           // a square root whose gradient at 0 is 0
  kInnerProducts,  // f * (a . b) of a query a and a key b
  kAdditive,       // c . tanh(a + b) of a query a, a key b and a constant c
  kDistance,       // f * |a - b|^2 of a query a and a key b
};

template <typename T>
struct FormulaFunction {
  FormulaOp op;
  absl::string_view form;  // how it is written, $0 being the first operand
  bool transcendental = false;
  // Of an elementwise operation, whose operands broadcast; else null.
  Var<T> (*value)(const Var<T>* operands) = nullptr;

  // "tanh", "q"; what is no name, of operators.
  absl::string_view name() const { return form.substr(0, form.find('(')); }
  int64_t operands() const { return std::count(form.begin(), form.end(), '$'); }
};

// In the order of FormulaOp.
template <typename T>
absl::Span<const FormulaFunction<T>> FormulaFunctions();

template <typename T>
const FormulaFunction<T>& FunctionOf(FormulaOp op) {
  return FormulaFunctions<T>()[static_cast<size_t>(op)];
}

// Whether the result for each element depends on the operands' elements alone.
inline bool IsElementwise(FormulaOp op) {
  return FunctionOf<double>(op).value != nullptr;
}

// What a node depends on.
enum class FormulaLevel { kConstant = 0, kQuery = 1, kKey = 2, kPair = 3 };

// Of a scalar.
inline constexpr int64_t kScalarWidth = 0;

struct FormulaNode {
  FormulaOp op = FormulaOp::kNumber;
  std::vector<int> operands = {};  // indices of earlier nodes
  TextRange range = {};            // in the formula, parentheses apart
  double number = 0;               // of a kNumber
  int parameter = -1;              // index of a leaf's; -1: none
  int64_t width = kScalarWidth;    // of a matrix, its rows
  FormulaLevel level = FormulaLevel::kConstant;
};

// Indices lowest .. highest.
struct TableRange {
  int64_t lowest = 0;
  int64_t highest = 0;

  int64_t count() const { return highest - lowest + 1; }
};

// As declared, 0 and nullopt are open.
struct FormulaVariable {
  std::string name;
  int64_t rows = 0;     // of a matrix; the width of a vector; 0: a scalar
  int64_t columns = 0;  // of a matrix, else 0
  std::optional<double> initial = {};
  bool is_term = false;  // every use is that of a vector in a sum
  std::optional<TableRange> table = {};  // its elements are used by an index
  bool is_scalar = false;                // as declared

  // Without the axis of heads.
  Shape shape() const;
};

struct FormulaGraph {
  std::string text = {};
  std::vector<FormulaNode> nodes = {};
  int root = -1;
  std::vector<FormulaVariable> parameters = {};  // in the order of first use
  // Known of a lowered formula: what Prepare() stores side by side (empty: the
  // keys), what it computes for that, and Score() with that, in rising order;
  // numbers apart.
  std::vector<int> prepared = {};
  std::vector<int> prepare_order = {};
  std::vector<int> score_order = {};

  // Whether i or j occurs.
  bool UsesPositions() const;
  // What a node was written as, cut to 40 characters.
  std::string Written(const FormulaNode& node) const;
  // What a node computes: "(W q) . k * 0.5".
  std::string Text(int node) const;
};

// Begins the note that says which parameters a formula has, with the number of
// their elements in all heads.
inline constexpr char kFormulaParameters[] = "parameters of the formula: ";

struct FormulaProblem {
  TextRange range = {};  // in the formula, unless `declared` says otherwise
  std::string message = {};
  int declared = -1;  // which declaration it is about
};

}  // namespace regard

#endif  // ATTENTION_FORMULA_NODE_H_
