#include "attention/formula/inner_product_decomposition.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace regard {

namespace {

using enum FormulaOp;

class Search {
 public:
  explicit Search(const FormulaGraph& formula)
      : formula_(formula), nodes_(formula.nodes) {}

  std::optional<InnerProductDecomposition> Run() {
    terms_.product.node = -1;
    if (!Add(formula_.root, /*negative=*/false) || terms_.product.node < 0) {
      return std::nullopt;
    }
    std::vector<bool> needed(nodes_.size());
    for (const int operand : At(terms_.product.node).operands) {
      Mark(operand, &needed);
    }
    for (const auto& term : terms_.of_query) Mark(term.node, &needed);
    for (const auto& term : terms_.of_key) Mark(term.node, &needed);
    for (const int n : formula_.score_order) {
      if (needed[static_cast<size_t>(n)]) terms_.order.push_back(n);
    }
    needed.assign(nodes_.size(), false);
    for (const auto& term : terms_.of_distance) Mark(term.node, &needed);
    for (int n = 0; n < static_cast<int>(nodes_.size()); ++n) {
      if (needed[static_cast<size_t>(n)] && At(n).op != kNumber) {
        terms_.distance_order.push_back(n);
      }
    }
    return std::move(terms_);
  }

 private:
  const FormulaNode& At(int n) const { return nodes_[static_cast<size_t>(n)]; }

  // Adds the terms of a sum to `terms_`. Returns false if
  // InnerProductDecomposition cannot represent a term.
  bool Add(int n, bool negative) {
    const FormulaNode& node = At(n);
    const bool is_pair = node.level == FormulaLevel::kPair;
    if (is_pair && node.op == kInnerProducts) {
      if (terms_.product.node >= 0) return false;
      terms_.product = {n, negative};
      return true;
    }
    if (is_pair && (node.op == kAdd || node.op == kSubtract)) {
      return Add(node.operands[0], negative) &&
             Add(node.operands[1], negative != (node.op == kSubtract));
    }
    if (is_pair && node.op == kNegate) return Add(node.operands[0], !negative);
    if (!IsFinite(n) || (is_pair && Slope(n) != 0.0)) return false;
    (is_pair                            ? terms_.of_distance
     : node.level == FormulaLevel::kKey ? terms_.of_key
                                        : terms_.of_query)
        .push_back({n, negative});
    return true;
  }

  // Marks a node and all nodes that it depends on.
  void Mark(int n, std::vector<bool>* marked) const {
    if ((*marked)[static_cast<size_t>(n)]) return;
    (*marked)[static_cast<size_t>(n)] = true;
    for (const int operand : At(n).operands) Mark(operand, marked);
  }

  // Whether the node is finite if all of its inputs are finite and of moderate
  // size.
  bool IsFinite(int n) const {
    std::vector<bool> parts(nodes_.size());
    Mark(n, &parts);
    for (size_t i = 0; i < parts.size(); ++i) {
      const FormulaNode& node = nodes_[i];
      if (!parts[i]) continue;
      if (node.op == kLog) return false;
      if (node.op == kNumber && !std::isfinite(node.number)) return false;
      if (node.op == kDivide && At(node.operands[1]).op != kNumber) {
        return false;
      }
      if (node.op == kPower && At(node.operands[1]).number < 0) return false;
    }
    return true;
  }

  // Returns how much a node grows if the positions of query and key both grow
  // by 1. The result is 0 if the node depends only on the distance between the
  // positions. Returns nullopt if no constant slope is found.
  std::optional<double> Slope(int n) const {
    const FormulaNode& node = At(n);
    if (node.level == FormulaLevel::kConstant) return 0;
    if (node.op == kQueryPosition || node.op == kKeyPosition) return 1;
    if (node.operands.empty()) return std::nullopt;
    std::vector<double> of;
    for (const int operand : node.operands) {
      const std::optional<double> slope = Slope(operand);
      if (!slope.has_value()) return std::nullopt;
      of.push_back(*slope);
    }
    if (node.op == kAdd) return of[0] + of[1];
    if (node.op == kSubtract) return of[0] - of[1];
    if (node.op == kNegate) return -of[0];
    const bool still =
        std::all_of(of.begin(), of.end(), [](double x) { return x == 0; });
    return still ? std::optional<double>(0) : std::nullopt;
  }

  const FormulaGraph& formula_;
  const std::vector<FormulaNode>& nodes_;
  InnerProductDecomposition terms_;
};

}  // namespace

std::optional<InnerProductDecomposition> DecomposeIntoInnerProduct(
    const FormulaGraph& formula) {
  return Search(formula).Run();
}

}  // namespace regard
