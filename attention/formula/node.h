// A formula as a list of nodes, and the table of all operations. The table has
// the notation of each operation and the functions of elementwise operations.
//
// syntax.h parses a text into a tree of nodes, and types.h infers their widths.
// compiler.h regroups the tree into a graph of operations. evaluation.h
// evaluates the graph.
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
  kMatrix,     // the parameter on the left of a product
  kTable,      // the parameter that has an index
  kQueries,    // q, followed by k, x_i, x_j, head, heads, i, j, d, dq, dk
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
  kWhere,  // where(a < b, x, y) with the operands a, b, x and y
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kNegate,
  kElement,  // an element of a table at an index
  kPower,    // its second operand is a number
  kProduct,  // a matrix times a vector
  kDot,
  // Only the compiler creates the operations below, in which f is a number.
  kRoot,           // a square root whose gradient at 0 is 0
  kInnerProducts,  // f * (a . b) of a query a and a key b
  kAdditive,       // c . tanh(a + b) of a query a, a key b and a constant c
  kDistance,       // f * |a - b|^2 of a query a and a key b
};

template <typename T>
struct FormulaOpInfo {
  FormulaOp op;
  absl::string_view form;  // notation, with $0 for the first operand
  bool transcendental = false;
  // The function of an elementwise operation, whose operands broadcast. Null if
  // the operation is not elementwise.
  Var<T> (*value)(const Var<T>* operands) = nullptr;

  // Name of a function or variable, such as "tanh" or "q". Meaningless if the
  // operation is an operator.
  absl::string_view name() const { return form.substr(0, form.find('(')); }
  int64_t operands() const { return std::count(form.begin(), form.end(), '$'); }
};

// Returns the table, in the order of FormulaOp.
template <typename T>
absl::Span<const FormulaOpInfo<T>> FormulaOpInfos();

template <typename T>
const FormulaOpInfo<T>& FormulaOpInfoFor(FormulaOp op) {
  return FormulaOpInfos<T>()[static_cast<size_t>(op)];
}

// Whether each element of the result depends only on the elements of the
// operands at the same index.
inline bool IsElementwise(FormulaOp op) {
  return FormulaOpInfoFor<double>(op).value != nullptr;
}

// The inputs that a node depends on.
enum class FormulaLevel { kConstant = 0, kQuery = 1, kKey = 2, kPair = 3 };

// The value of FormulaNode::width for a scalar.
inline constexpr int64_t kScalarWidth = 0;

struct FormulaNode {
  FormulaOp op = FormulaOp::kNumber;
  std::vector<int> operands = {};  // indices of earlier nodes
  TextRange range = {};            // range in the formula, without parentheses
  double number = 0;               // value of a kNumber
  int parameter = -1;              // index into `parameters`, or -1
  int64_t width = kScalarWidth;    // number of rows, for a matrix
  FormulaLevel level = FormulaLevel::kConstant;
};

// The index range of a table, lowest .. highest.
struct TableRange {
  int64_t lowest = 0;
  int64_t highest = 0;

  int64_t count() const { return highest - lowest + 1; }
};

// A parameter of a formula. In a declaration, `rows` or `columns` of 0 are
// inferred, and an absent `initial` is the default.
struct FormulaParameterInfo {
  std::string name;
  int64_t rows = 0;     // rows of a matrix, width of a vector, or 0
  int64_t columns = 0;  // 0 if not a matrix
  std::optional<double> initial = {};
  bool is_term = false;  // a vector that is only added or subtracted
  std::optional<TableRange> table = {};  // range of its indices
  bool is_scalar = false;                // declared as a scalar

  // The shape without the axis of heads.
  Shape shape() const;
};

struct FormulaGraph {
  std::string text = {};
  std::vector<FormulaNode> nodes = {};
  int root = -1;
  std::vector<FormulaParameterInfo> parameters = {};  // ordered by first use
  // Indices of nodes, set by the compiler, in ascending order. The lists
  // do not include number nodes.
  // * `prepared`: the nodes that Prepare() concatenates and returns. If empty,
  //   Prepare() returns the keys.
  // * `prepare_order`: the nodes that Prepare() computes.
  // * `score_order`: the nodes that Score() computes.
  std::vector<int> prepared = {};
  std::vector<int> prepare_order = {};
  std::vector<int> score_order = {};

  // Whether the formula contains i or j.
  bool UsesPositions() const;
  // Returns the text that a node was parsed from, truncated to 40 characters.
  std::string SourceText(const FormulaNode& node) const;
  // Returns the computation of a node as text, such as "(W q) . k * 0.5".
  std::string Text(int node) const;
};

// Start of the note that lists the parameters of a formula, each with its
// number of elements in all heads.
inline constexpr char kFormulaParameters[] = "parameters of the formula: ";

struct FormulaProblem {
  TextRange range = {};  // range in the formula; unused if `declared` is set
  std::string message = {};
  int declared = -1;  // index of the faulty declaration, or -1
};

}  // namespace regard

#endif  // ATTENTION_FORMULA_NODE_H_
