#include "attention/formula/types.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "nn/name_suggestion.h"

namespace regard {
namespace {

enum class Kind { kUnknown, kScalar, kVector, kMatrix };

// What a node needs its operand to be. A sum beside a vector asks only terms.
enum class Need { kNothing, kVectorTerm, kVector };

bool IsSum(FormulaOp op) {
  return op == FormulaOp::kAdd || op == FormulaOp::kSubtract;
}

// Operands that must be vectors.
bool NeedsVector(FormulaOp op, size_t operand) {
  return op == FormulaOp::kDot || op == FormulaOp::kSum ||
         op == FormulaOp::kNorm || (op == FormulaOp::kProduct && operand == 1);
}

class Inference {
 public:
  using Problem = std::optional<FormulaProblem>;

  Inference(const FormulaTree& formula, const FormulaWidths& widths,
            absl::Span<const DeclaredParameter> declared, FormulaTypes* types)
      : formula_(formula),
        nodes_(formula.nodes),
        widths_(widths),
        declared_(declared),
        types_(*types) {}

  Problem Run() {
    types_.of = widths_;
    types_.parameter_of.assign(nodes_.size(), -1);
    Problem problem = FindParameters();
    if (!problem.has_value()) problem = Declare();
    if (problem.has_value()) return problem;
    while (MarkVectors()) {
    }
    for (Kind& kind : kinds_) {
      if (kind == Kind::kUnknown) kind = Kind::kScalar;
    }
    problem = CheckKinds();
    if (!problem.has_value()) problem = UnifyWidths();
    if (problem.has_value()) return problem;
    const int64_t free = widths_.free > 0 ? widths_.free : widths_.query;
    const auto width_of = [&](int axis) {
      if (axis < 0) return kScalarWidth;
      const int64_t width = axes_[Find(axis)].width;
      return width > 0 ? width : free;
    };
    for (size_t n = 0; n < nodes_.size(); ++n) {
      types_.widths.push_back(width_of(axis_of_[n]));
    }
    for (size_t p = 0; p < types_.parameters.size(); ++p) {
      types_.parameters[p].rows = width_of(rows_[p]);
      types_.parameters[p].columns = width_of(columns_[p]);
    }
    return std::nullopt;
  }

 private:
  // The width of some vectors, or an axis of matrices. Equal ones are joined.
  struct Axis {
    int parent;
    int64_t width = 0;     // 0: not known
    std::string why = {};  // it is known, where a use says so
  };

  int ParameterOf(int node) const { return types_.parameter_of[node]; }
  std::string Quoted(int node) const { return formula_.Quoted(nodes_[node]); }

  std::string At(int node) const {
    return absl::StrCat(Quoted(node), ", character ",
                        nodes_[node].range.begin + 1);
  }

  FormulaProblem ProblemAt(int node, std::string message) const {
    return {nodes_[node].range, std::move(message)};
  }

  // Every parameter, and whether it is a matrix: it cannot be used both ways.
  Problem FindParameters() {
    std::vector<int> first_use;  // a product, or the name itself
    std::vector<bool> is_left(nodes_.size(), false);
    std::vector<int> product_of(nodes_.size(), -1);
    for (size_t n = 0; n < nodes_.size(); ++n) {
      if (nodes_[n].op != FormulaOp::kProduct) continue;
      product_of[nodes_[n].operands[0]] = static_cast<int>(n);
    }
    for (size_t n = 0; n < nodes_.size(); ++n) {
      const FormulaNode& node = nodes_[n];
      if (node.op != FormulaOp::kName || IsReservedInFormulas(node.name)) {
        continue;
      }
      const bool is_matrix = product_of[n] >= 0;
      const int use = is_matrix ? product_of[n] : static_cast<int>(n);
      const auto same = [&](const InferredParameter& parameter) {
        return parameter.name == node.name;
      };
      auto& all = types_.parameters;
      const auto found = std::find_if(all.begin(), all.end(), same);
      const auto index = static_cast<size_t>(found - all.begin());
      types_.parameter_of[n] = static_cast<int>(index);
      if (found == all.end()) {
        all.push_back({.name = node.name});
        kinds_.push_back(is_matrix ? Kind::kMatrix : Kind::kUnknown);
        first_use.push_back(use);
        continue;
      }
      if ((kinds_[index] == Kind::kMatrix) == is_matrix) continue;
      const int matrix = is_matrix ? use : first_use[index];
      const int value = is_matrix ? first_use[index] : use;
      return ProblemAt(static_cast<int>(n),
                       absl::StrCat("'", node.name, "' is a matrix in ",
                                    At(matrix), ", but no matrix at character ",
                                    nodes_[value].range.begin + 1));
    }
    return std::nullopt;
  }

  int NewAxis(int64_t width) {
    axes_.push_back({static_cast<int>(axes_.size()), width});
    return static_cast<int>(axes_.size()) - 1;
  }

  int Find(int axis) const {
    while (axes_[axis].parent != axis) axis = axes_[axis].parent;
    return axis;
  }

  // Reads the declarations, and gives each parameter its axes.
  Problem Declare() {
    const size_t count = types_.parameters.size();
    rows_.assign(count, -1);
    columns_.assign(count, -1);
    std::vector<int> declaration_of(count, -1);
    std::vector<std::string> names;
    for (const auto& parameter : types_.parameters) {
      names.push_back(parameter.name);
    }
    for (size_t d = 0; d < declared_.size(); ++d) {
      const DeclaredParameter& declared = declared_[d];
      const auto problem = [&](std::string message) -> Problem {
        return FormulaProblem{{}, std::move(message), static_cast<int>(d)};
      };
      const auto found = std::find(names.begin(), names.end(), declared.name);
      if (found == names.end()) {
        return problem(absl::StrCat("the formula has no parameter '",
                                    Printable(declared.name), "'",
                                    SuggestName(declared.name, names)));
      }
      const auto p = static_cast<size_t>(found - names.begin());
      if (declaration_of[p] >= 0) {
        return problem(absl::StrCat("'", declared.name, "' is declared twice"));
      }
      declaration_of[p] = static_cast<int>(d);
      if (declared.columns > 0 && kinds_[p] != Kind::kMatrix) {
        return problem(absl::StrCat("'", declared.name,
                                    "' has columns here, but is never left of "
                                    "a product, as a matrix is"));
      }
      if (declared.rows > 0 && kinds_[p] == Kind::kUnknown) {
        kinds_[p] = Kind::kVector;
      }
      types_.parameters[p].initial = declared.initial;
    }
    for (size_t p = 0; p < count; ++p) {
      const DeclaredParameter declared = declaration_of[p] < 0
                                             ? DeclaredParameter{}
                                             : declared_[declaration_of[p]];
      rows_[p] = NewAxis(declared.rows);
      columns_[p] = NewAxis(declared.columns);
    }
    return std::nullopt;
  }

  Kind KindOf(int n) const {
    const FormulaNode& node = nodes_[n];
    switch (node.op) {
      case FormulaOp::kName:
        if (node.name == "q" || node.name == "k") return Kind::kVector;
        return ParameterOf(n) < 0 ? Kind::kScalar : kinds_[ParameterOf(n)];
      case FormulaOp::kProduct:
        return Kind::kVector;
      default:
        break;
    }
    if (!IsElementwise(node.op)) return Kind::kScalar;
    Kind kind = Kind::kScalar;
    for (const int operand : node.operands) {
      if (kind_of_[operand] == Kind::kVector) return Kind::kVector;
      if (kind_of_[operand] == Kind::kUnknown) kind = Kind::kUnknown;
    }
    return kind;
  }

  void FindKinds() {
    kind_of_.clear();
    for (size_t n = 0; n < nodes_.size(); ++n) {
      kind_of_.push_back(KindOf(static_cast<int>(n)));
    }
  }

  // Makes vectors of the parameters that are now needed as such. All needs are
  // found before any is met, so that their order has no effect.
  bool MarkVectors() {
    FindKinds();
    std::vector<Need> needs(nodes_.size(), Need::kNothing);
    std::vector<int> needed;
    for (int n = static_cast<int>(nodes_.size()) - 1; n >= 0; --n) {
      const FormulaNode& node = nodes_[n];
      if (node.op == FormulaOp::kName && ParameterOf(n) >= 0 &&
          kind_of_[n] == Kind::kUnknown && needs[n] != Need::kNothing) {
        needed.push_back(ParameterOf(n));
      }
      for (size_t i = 0; i < node.operands.size(); ++i) {
        const int operand = node.operands[i];
        if (kind_of_[operand] != Kind::kUnknown) continue;
        Need& need = needs[operand];
        if (NeedsVector(node.op, i)) {
          need = Need::kVector;
        } else if (IsSum(node.op) && kind_of_[n] == Kind::kVector) {
          need = Need::kVectorTerm;
        } else if (needs[n] == Need::kVector || IsSum(node.op) ||
                   node.op == FormulaOp::kNegate) {
          need = needs[n];
        }
      }
    }
    for (const int p : needed) kinds_[p] = Kind::kVector;
    return !needed.empty();
  }

  Problem CheckKinds() {
    FindKinds();
    for (int n = 0; n < static_cast<int>(nodes_.size()); ++n) {
      const FormulaNode& node = nodes_[n];
      for (size_t i = 0; i < node.operands.size(); ++i) {
        const int operand = node.operands[i];
        if (!NeedsVector(node.op, i) || kind_of_[operand] != Kind::kScalar) {
          continue;
        }
        const auto shape_of = [&](int x) {
          return absl::StrCat(Quoted(x), kind_of_[x] == Kind::kScalar
                                             ? " is a scalar"
                                             : " is a vector");
        };
        switch (node.op) {
          case FormulaOp::kDot:
            return ProblemAt(n, absl::StrCat("'.' takes two vectors; ",
                                             shape_of(node.operands[0]), ", ",
                                             shape_of(node.operands[1])));
          case FormulaOp::kProduct:
            return ProblemAt(
                n, absl::StrCat("a matrix multiplies a vector; ",
                                shape_of(operand), ". Scalars take '*'"));
          default:
            return ProblemAt(
                n, absl::StrCat(node.op == FormulaOp::kSum ? "sum" : "norm",
                                " takes a vector; ", shape_of(operand)));
        }
      }
    }
    const int root = static_cast<int>(nodes_.size()) - 1;
    if (kind_of_[root] != Kind::kVector) return std::nullopt;
    return ProblemAt(root,
                     "a score is one number, but this is a vector: sum(..), "
                     "norm(..) or '.' makes a scalar of it");
  }

  // Joins two axes that `node` wants equal.
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

  // "3 by 'U k', character 5".
  std::string WidthOf(int axis) const {
    const int64_t width = axes_[Find(axis)].width;
    while (axes_[axis].why.empty() && axes_[axis].parent != axis) {
      axis = axes_[axis].parent;
    }
    return absl::StrCat(width, axes_[axis].why);
  }

  Problem UnifyWidths() {
    const int of_query = NewAxis(widths_.query);
    const int of_key = NewAxis(widths_.key);
    for (int n = 0; n < static_cast<int>(nodes_.size()); ++n) {
      const FormulaNode& node = nodes_[n];
      const int p = ParameterOf(n);
      int axis = -1;
      if (node.op == FormulaOp::kProduct) {
        const int of_matrix = ParameterOf(node.operands[0]);
        const int of_vector = axis_of_[node.operands[1]];
        axis = rows_[of_matrix];
        if (!Unify(columns_[of_matrix], of_vector, n)) {
          return ProblemAt(
              n, absl::StrCat("'", types_.parameters[of_matrix].name,
                              "' has columns ", WidthOf(columns_[of_matrix]),
                              ", but ", Quoted(node.operands[1]), " has width ",
                              WidthOf(of_vector)));
        }
      } else if (node.name == "q") {
        axis = of_query;
      } else if (node.name == "k") {
        axis = of_key;
      } else if (node.name == "d" && widths_.query != widths_.key) {
        return ProblemAt(
            n, absl::StrCat("'d' needs query and key of one width, but dq is ",
                            widths_.query, " and dk is ", widths_.key));
      } else if (p >= 0) {
        if (kinds_[p] != Kind::kScalar) axis = rows_[p];
      } else {
        for (const int operand : node.operands) {
          const int other = axis_of_[operand];
          if (other < 0) continue;
          if (axis >= 0 && !Unify(axis, other, n)) {
            return ProblemAt(
                n,
                absl::StrCat(node.op == FormulaOp::kDot
                                 ? "'.' takes two vectors of one width: "
                                 : "vectors that go together have one width: ",
                             Quoted(node.operands[0]), " has ", WidthOf(axis),
                             ", ", Quoted(operand), " has ", WidthOf(other)));
          }
          if (axis < 0) axis = other;
        }
        if (!IsElementwise(node.op)) axis = -1;
      }
      axis_of_.push_back(axis);
    }
    FindTerms();
    for (size_t p = 0; p < kinds_.size(); ++p) {
      if (kinds_[p] == Kind::kScalar) rows_[p] = -1;
      if (kinds_[p] != Kind::kMatrix) columns_[p] = -1;
    }
    return std::nullopt;
  }

  // A vector that every use adds or subtracts is a bias.
  void FindTerms() {
    std::vector<bool> is_term(nodes_.size(), false);
    for (const FormulaNode& node : nodes_) {
      if (!IsSum(node.op)) continue;
      for (const int operand : node.operands) is_term[operand] = true;
    }
    for (size_t p = 0; p < kinds_.size(); ++p) {
      types_.parameters[p].is_term = kinds_[p] == Kind::kVector;
    }
    for (size_t n = 0; n < nodes_.size(); ++n) {
      const int p = types_.parameter_of[n];
      if (p >= 0 && !is_term[n]) types_.parameters[p].is_term = false;
    }
  }

  const FormulaTree& formula_;
  const std::vector<FormulaNode>& nodes_;
  const FormulaWidths& widths_;
  const absl::Span<const DeclaredParameter> declared_;
  FormulaTypes& types_;
  std::vector<Kind> kinds_;          // of parameters
  std::vector<Kind> kind_of_;        // of nodes
  std::vector<int> rows_, columns_;  // axes of parameters
  std::vector<int> axis_of_;         // of nodes; -1 of scalars
  std::vector<Axis> axes_;
};

}  // namespace

std::optional<FormulaProblem> InferFormulaTypes(
    const FormulaTree& formula, const FormulaWidths& widths,
    absl::Span<const DeclaredParameter> declared, FormulaTypes* types) {
  *types = {};
  return Inference(formula, widths, declared, types).Run();
}

}  // namespace regard
