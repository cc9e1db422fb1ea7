#include "attention/formula/types.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "options/name_suggestion.h"

namespace regard {
namespace {

using enum FormulaOp;

// Values that replace an axis index, for operands that are scalars or may be
// scalars.
constexpr int kScalar = -1;
constexpr int kOpen = -2;  // a scalar or a vector, not yet known

// The largest number allowed in an index. Sums of positions and such numbers
// are exact in float.
constexpr double kMaxIndexNumber = 65536;

bool IsSum(FormulaOp op) { return op == kAdd || op == kSubtract; }

bool NeedsVector(FormulaOp op, size_t operand) {
  return op == kDot || op == kSum || op == kNorm ||
         (op == kProduct && operand == 1);
}

class Inference {
 public:
  Inference(const FormulaWidths& widths, FormulaGraph* formula)
      : formula_(*formula),
        nodes_(formula->nodes),
        parameters_(formula->parameters),
        widths_(widths),
        rows_(parameters_.size(), kOpen),
        columns_(parameters_.size(), kScalar),
        of_query_(NewAxis(widths.query)),
        of_key_(NewAxis(widths.key)),
        of_query_input_(NewAxis(widths.query_input)),
        of_key_input_(NewAxis(widths.key_input)) {}

  std::optional<FormulaProblem> Run(
      absl::Span<const FormulaParameterInfo> declared) {
    FindKinds();
    CheckIndices();
    Declare(declared);
    CheckGiven();
    while (MarkVectors()) {
    }
    std::replace(rows_.begin(), rows_.end(), kOpen, kScalar);
    FindAxes();
    CheckKinds();
    if (!problem_.has_value()) UnifyWidths();
    if (!problem_.has_value()) SetTypes();
    return problem_;
  }

 private:
  // The axis of a vector, or one axis of a matrix. Axes that must have equal
  // widths are joined.
  struct Axis {
    int parent;
    int64_t width = 0;     // 0: unknown
    std::string why = {};  // the use that determines the width, if any
  };

  std::string Quoted(int node) const {
    return absl::StrCat("'", formula_.SourceText(nodes_[node]), "'");
  }
  std::string At(int node) const {
    return absl::StrCat(Quoted(node), ", character ",
                        nodes_[node].range.begin + 1);
  }

  // Stores the first problem. Later problems are ignored.
  void Fail(const FormulaProblem& problem) {
    if (!problem_.has_value()) problem_ = problem;
  }
  void FailAt(int node, const std::string& message) {
    Fail({nodes_[node].range, message});
  }

  // Describes how a matrix or table is used: "a matrix in 'W q', character 5".
  std::string UseOf(int leaf) const {
    int user = leaf;
    while (nodes_[user].operands.empty() || nodes_[user].operands[0] != leaf) {
      ++user;
    }
    return absl::StrCat(
        nodes_[leaf].op == kMatrix ? "a matrix in " : "a table in ", At(user));
  }

  // Separates matrices and tables from other parameters. Fails if a parameter
  // is used in two ways.
  void FindKinds() {
    std::vector<int> first_use(parameters_.size(), -1);
    for (int n = 0; n < static_cast<int>(nodes_.size()); ++n) {
      const int p = nodes_[n].parameter;
      if (p < 0) continue;
      if (nodes_[n].op == kMatrix && columns_[p] < 0) {
        rows_[p] = NewAxis(0);
        columns_[p] = NewAxis(0);
      }
      if (nodes_[n].op == kTable) rows_[p] = kScalar;
      if (first_use[p] < 0) first_use[p] = n;
      const int first = first_use[p];
      if (nodes_[first].op == nodes_[n].op) continue;
      const int special = nodes_[n].op == kParameter ? first : n;
      FailAt(n, absl::StrCat("'", parameters_[p].name, "' is ", UseOf(special),
                             ", but not at character ",
                             nodes_[special == n ? first : n].range.begin + 1));
    }
  }

  // Whether the index contains a position. Fails if the index contains an
  // operation that is not allowed in it.
  bool CheckIndex(int n) {
    const FormulaNode& node = nodes_[n];
    if (node.op == kQueryPosition || node.op == kKeyPosition) return true;
    if (node.op == kNumber) {
      if (node.number != std::floor(node.number) ||
          node.number > kMaxIndexNumber) {
        FailAt(n, absl::StrCat("a number in an index must be a whole one of at "
                               "most ",
                               kMaxIndexNumber));
      }
      return false;
    }
    if (!IsSum(node.op) && node.op != kNegate && node.op != kAbs &&
        node.op != kMin && node.op != kMax && node.op != kWhere) {
      FailAt(n, absl::StrCat(Quoted(n),
                             " is not allowed in an index, which is made of i, "
                             "j, whole numbers, +, -, abs, min, max and "
                             "where"));
      return false;
    }
    bool has_position = false;
    for (const int operand : node.operands) {
      has_position |= CheckIndex(operand);
    }
    return has_position;
  }

  void CheckIndices() {
    for (const FormulaNode& node : nodes_) {
      if (node.op != kElement) continue;
      const int index = node.operands[1];
      if (!CheckIndex(index)) {
        FailAt(index, "an index must depend on i or j, as in b[i - j]");
      }
    }
  }

  // Fails if the formula contains an input that is not available, or a table
  // without a declared range.
  void CheckGiven() {
    for (int n = 0; n < static_cast<int>(nodes_.size()); ++n) {
      const FormulaNode& node = nodes_[n];
      if ((node.op == kQueryInput && widths_.query_input == 0) ||
          (node.op == kKeyInput && widths_.key_input == 0)) {
        FailAt(n,
               absl::StrCat(Quoted(n), " is the input of multi-head attention",
                            node.op == kKeyInput ? " without `latent`" : "",
                            ", which is not given here"));
      }
      if (node.op != kTable || parameters_[node.parameter].table.has_value()) {
        continue;
      }
      const std::string& name = parameters_[node.parameter].name;
      FailAt(n, absl::StrCat("the range of the indices of '", name,
                             "' is missing: declare it, as in parameter { "
                             "name: '",
                             name, "' table { lowest: -8 highest: 8 } }"));
    }
  }

  int NewAxis(int64_t width) {
    axes_.push_back({static_cast<int>(axes_.size()), width});
    return static_cast<int>(axes_.size()) - 1;
  }

  void Declare(absl::Span<const FormulaParameterInfo> declared) {
    std::vector<std::string> names;
    for (const FormulaParameterInfo& parameter : parameters_) {
      names.push_back(parameter.name);
    }
    std::vector<bool> is_declared(names.size(), false);
    for (size_t d = 0; d < declared.size(); ++d) {
      const std::string& name = declared[d].name;
      const int64_t rows = declared[d].rows;
      const int64_t columns = declared[d].columns;
      const auto fail = [&](const std::string& message) {
        Fail({.message = message, .declared = static_cast<int>(d)});
      };
      const auto found = std::find(names.begin(), names.end(), name);
      if (found == names.end()) {
        fail(absl::StrCat("the formula has no parameter '", Printable(name),
                          "'", SuggestName(name, names)));
        continue;
      }
      const auto p = static_cast<size_t>(found - names.begin());
      if (is_declared[p]) fail(absl::StrCat("'", name, "' is declared twice"));
      is_declared[p] = true;
      const std::string wrong_kind = DeclareKind(p, declared[d]);
      if (!wrong_kind.empty()) {
        fail(absl::StrCat("'", name, "' ", wrong_kind));
        continue;
      }
      if (columns > 0 && columns_[p] < 0) {
        fail(absl::StrCat(
            "'", name,
            "' has columns here, but no product has it as its matrix"));
      }
      if (rows > 0 && rows_[p] == kOpen) rows_[p] = NewAxis(0);
      if (rows_[p] >= 0) axes_[rows_[p]].width = rows;
      if (columns_[p] >= 0) axes_[columns_[p]].width = columns;
      parameters_[p].initial = declared[d].initial;
    }
  }

  // Applies the declaration of a table or scalar. Returns a message if the
  // formula contradicts the declaration.
  std::string DeclareKind(size_t p, const FormulaParameterInfo& declared) {
    const bool is_table =
        std::any_of(nodes_.begin(), nodes_.end(), [&](const FormulaNode& node) {
          return node.op == kTable && node.parameter == static_cast<int>(p);
        });
    const std::optional<TableRange>& table = declared.table;
    if (table.has_value() && !is_table) {
      return absl::StrCat(
          "has a table here, but the formula gives it no index, as in ",
          declared.name, "[i - j]");
    }
    if (is_table && declared.rows > 0) {
      return "has rows here, but an index in the formula: declare its `table`";
    }
    if (declared.is_scalar && (is_table || columns_[p] >= 0)) {
      return absl::StrCat("is a scalar here, but a ",
                          is_table ? "table" : "matrix", " in the formula");
    }
    if (declared.is_scalar && declared.rows > 0) {
      return "is a scalar here, but has rows, too: remove one of them";
    }
    if (table.has_value() && table->count() < 1) {
      return absl::StrCat("has a table whose lowest index, ", table->lowest,
                          ", is above its highest, ", table->highest);
    }
    if (declared.is_scalar) rows_[p] = kScalar;
    parameters_[p].table = table;
    return "";
  }

  // Returns the axis of a vector, or of the rows of a matrix.
  int AxisOf(const FormulaNode& node) const {
    if (node.op == kQueries) return of_query_;
    if (node.op == kKeys) return of_key_;
    if (node.op == kQueryInput) return of_query_input_;
    if (node.op == kKeyInput) return of_key_input_;
    if (node.op == kProduct) return axis_of_[node.operands[0]];
    if (node.parameter >= 0) return rows_[node.parameter];
    int axis = kScalar;
    if (!IsElementwise(node.op)) return axis;
    for (const int operand : node.operands) {
      if (axis_of_[operand] >= 0) return axis_of_[operand];
      axis = std::min(axis, axis_of_[operand]);
    }
    return axis;
  }

  void FindAxes() {
    axis_of_.clear();
    for (const FormulaNode& node : nodes_) axis_of_.push_back(AxisOf(node));
  }

  // If node `n` is not yet known to be a scalar or a vector, adds parameters to
  // `needed`. They must be vectors for `n` to be a vector. If `only_terms`,
  // follows only sums, differences and negations.
  void Require(int n, bool only_terms, std::vector<int>* needed) const {
    const FormulaNode& node = nodes_[n];
    if (axis_of_[n] != kOpen) return;
    if (node.parameter >= 0) needed->push_back(node.parameter);
    if (only_terms && !IsSum(node.op) && node.op != kNegate) return;
    for (const int operand : node.operands) {
      Require(operand, only_terms, needed);
    }
  }

  // Turns the parameters that must be vectors into vectors. Returns whether
  // there were any. Collects all parameters before it changes one, so that the
  // order of nodes has no effect.
  bool MarkVectors() {
    FindAxes();
    std::vector<int> needed;
    for (size_t n = 0; n < nodes_.size(); ++n) {
      const FormulaNode& node = nodes_[n];
      const bool is_term = IsSum(node.op) && axis_of_[n] >= 0;
      for (size_t i = 0; i < node.operands.size(); ++i) {
        if (!is_term && !NeedsVector(node.op, i)) continue;
        Require(node.operands[i], is_term, &needed);
      }
    }
    for (const int p : needed) rows_[p] = NewAxis(0);
    return !needed.empty();
  }

  void CheckKinds() {
    const auto shape_of = [&](int x) {
      return absl::StrCat(
          Quoted(x), axis_of_[x] == kScalar ? " is a scalar" : " is a vector");
    };
    for (int n = 0; n < static_cast<int>(nodes_.size()); ++n) {
      const FormulaNode& node = nodes_[n];
      for (size_t i = 0; i < node.operands.size(); ++i) {
        const int x = node.operands[i];
        if (!NeedsVector(node.op, i) || axis_of_[x] != kScalar) continue;
        if (node.op == kDot) {
          FailAt(n, absl::StrCat("'.' takes two vectors; ",
                                 shape_of(node.operands[0]), ", ",
                                 shape_of(node.operands[1])));
        } else if (node.op == kProduct) {
          FailAt(n, absl::StrCat("a matrix must multiply a vector; ",
                                 shape_of(x), ". Multiply scalars with '*'"));
        } else {
          FailAt(n, absl::StrCat(FormulaOpInfoFor<double>(node.op).name(),
                                 " takes a vector; ", shape_of(x)));
        }
      }
    }
    if (axis_of_[formula_.root] >= 0) {
      FailAt(formula_.root,
             "a score must be a scalar, but this is a vector: reduce it with "
             "sum(..), norm(..) or '.'");
    }
  }

  int Find(int axis) const {
    while (axes_[axis].parent != axis) axis = axes_[axis].parent;
    return axis;
  }

  // Joins two axes whose widths must be equal at `node`. Returns false if the
  // widths differ.
  bool Unify(int a, int b, int node) {
    a = Find(a);
    b = Find(b);
    if (a == b) return true;
    if (axes_[a].width == 0) std::swap(a, b);
    if (axes_[b].width > 0) return axes_[a].width == axes_[b].width;
    axes_[b].parent = a;
    if (axes_[a].width > 0) axes_[b].why = absl::StrCat(" by ", At(node));
    return true;
  }

  // Describes a width and its reason: "3 by 'U k', character 5".
  std::string WidthOf(int axis) const {
    const int64_t width = axes_[Find(axis)].width;
    while (axes_[axis].why.empty() && axes_[axis].parent != axis) {
      axis = axes_[axis].parent;
    }
    return absl::StrCat(width, axes_[axis].why);
  }

  void UnifyWidths() {
    for (int n = 0; n < static_cast<int>(nodes_.size()); ++n) {
      const FormulaNode& node = nodes_[n];
      if (node.op == kWidth && widths_.query != widths_.key) {
        FailAt(
            n,
            absl::StrCat(
                "'d' requires a query and a key of the same width, but dq is ",
                widths_.query, " and dk is ", widths_.key));
      }
      if (node.op == kProduct) {
        const int matrix = nodes_[node.operands[0]].parameter;
        const int of_vector = axis_of_[node.operands[1]];
        if (Unify(columns_[matrix], of_vector, n)) continue;
        FailAt(n, absl::StrCat("'", parameters_[matrix].name, "' has columns ",
                               WidthOf(columns_[matrix]), ", but ",
                               Quoted(node.operands[1]), " has width ",
                               WidthOf(of_vector)));
        continue;
      }
      int axis = kScalar;
      for (const int operand : node.operands) {
        const int other = axis_of_[operand];
        if (axis >= 0 && other >= 0 && !Unify(axis, other, n)) {
          FailAt(n,
                 absl::StrCat(node.op == kDot
                                  ? "'.' takes two vectors of the same width: "
                                  : "these vectors must have the same width: ",
                              Quoted(node.operands[0]), " has ", WidthOf(axis),
                              ", ", Quoted(operand), " has ", WidthOf(other)));
        }
        if (axis < 0) axis = other;
      }
    }
  }

  void SetTypes() {
    const int64_t free = widths_.free > 0 ? widths_.free : widths_.query;
    const auto width_of = [&](int axis) {
      if (axis < 0) return kScalarWidth;
      const int64_t width = axes_[Find(axis)].width;
      return width > 0 ? width : free;
    };
    for (size_t p = 0; p < parameters_.size(); ++p) {
      FormulaParameterInfo& parameter = parameters_[p];
      // Marks each vector as a term. The loop below removes the mark if an
      // operation other than a sum or difference uses the vector.
      parameter.is_term = rows_[p] >= 0 && columns_[p] < 0;
      parameter.rows = width_of(rows_[p]);
      parameter.columns = width_of(columns_[p]);
    }
    for (size_t n = 0; n < nodes_.size(); ++n) {
      FormulaNode& node = nodes_[n];
      node.width = width_of(axis_of_[n]);
      for (const int operand : node.operands) {
        const int p = nodes_[operand].parameter;
        if (p >= 0 && !IsSum(node.op)) parameters_[p].is_term = false;
      }
      if (node.op != kWidth && node.op != kQueryWidth && node.op != kKeyWidth &&
          node.op != kHeads) {
        continue;
      }
      node.number = static_cast<double>(node.op == kKeyWidth ? widths_.key
                                        : node.op == kHeads  ? widths_.heads
                                                             : widths_.query);
      node.op = kNumber;
    }
  }

  FormulaGraph& formula_;
  std::vector<FormulaNode>& nodes_;
  std::vector<FormulaParameterInfo>& parameters_;
  const FormulaWidths& widths_;
  std::vector<Axis> axes_;
  std::vector<int> rows_, columns_;  // axes of the parameters
  const int of_query_, of_key_;      // axes of q and k
  const int of_query_input_, of_key_input_;
  std::vector<int> axis_of_;  // axis of each node
  std::optional<FormulaProblem> problem_;
};

}  // namespace

std::optional<FormulaProblem> InferFormulaTypes(
    const FormulaWidths& widths,
    absl::Span<const FormulaParameterInfo> declared, FormulaGraph* formula) {
  return Inference(widths, formula).Run(declared);
}

}  // namespace regard
