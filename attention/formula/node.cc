#include "attention/formula/node.h"

#include <algorithm>

#include "absl/strings/strip.h"
#include "absl/strings/substitute.h"
#include "autodiff/ops/elementwise.h"
#include "files/number_text.h"

namespace regard {
namespace {

using enum FormulaOp;

template <typename T>
constexpr FormulaOpInfo<T> kFunctions[] = {
    {kNumber, ""},
    {kParameter, ""},
    {kMatrix, ""},
    {kTable, ""},
    {kQueries, "q"},
    {kKeys, "k"},
    {kQueryInput, "x_i"},
    {kKeyInput, "x_j"},
    {kHead, "head"},
    {kHeads, "heads"},
    {kQueryPosition, "i"},
    {kKeyPosition, "j"},
    {kWidth, "d"},
    {kQueryWidth, "dq"},
    {kKeyWidth, "dk"},
    {kTanh, "tanh($0)", true, [](auto* x) { return Tanh(x[0]); }},
    {kSigmoid, "sigmoid($0)", true, [](auto* x) { return Sigmoid(x[0]); }},
    {kRelu, "relu($0)", false, [](auto* x) { return Relu(x[0]); }},
    {kSoftplus, "softplus($0)", true, [](auto* x) { return Softplus(x[0]); }},
    {kExp, "exp($0)", true, [](auto* x) { return Exp(x[0]); }},
    {kLog, "log($0)", true, [](auto* x) { return Log(x[0]); }},
    {kAbs, "abs($0)", false, [](auto* x) { return Abs(x[0]); }},
    {kSqrt, "sqrt($0)", false, [](auto* x) { return Sqrt(x[0]); }},
    {kCos, "cos($0)", true, [](auto* x) { return Cos(x[0]); }},
    {kSin, "sin($0)", true, [](auto* x) { return Sin(x[0]); }},
    {kSum, "sum($0)"},
    {kNorm, "norm($0)"},
    {kMin, "min($0, $1)", false, [](auto* x) { return Minimum(x[0], x[1]); }},
    {kMax, "max($0, $1)", false, [](auto* x) { return Maximum(x[0], x[1]); }},
    {kWhere, "where($0 < $1, $2, $3)", false,
     [](auto* x) { return Where(x[1] - x[0], x[2], x[3]); }},
    {kAdd, "($0 + $1)", false, [](auto* x) { return x[0] + x[1]; }},
    {kSubtract, "($0 - $1)", false, [](auto* x) { return x[0] - x[1]; }},
    {kMultiply, "($0 * $1)", false, [](auto* x) { return x[0] * x[1]; }},
    {kDivide, "($0 / $1)", false, [](auto* x) { return x[0] / x[1]; }},
    {kNegate, "(-$0)", false, [](auto* x) { return -x[0]; }},
    {kElement, "$0[$1]"},
    {kPower, "$0^$1", true,
     [](auto* x) {
       return x[1].item() == 2 ? Square(x[0]) : Pow(x[0], x[1].item());
     }},
    {kProduct, "($0 $1)"},
    {kDot, "($0 . $1)"},
    {kRoot, "sqrt($0)"},
    {kInnerProducts, "$2 * ($0 . $1)"},
    {kAdditive, "($2 . tanh($0 + $1))"},
    {kDistance, "$2 * sum(($0 - $1)^2)"},
};

}  // namespace

template <typename T>
absl::Span<const FormulaOpInfo<T>> FormulaOpInfos() {
  return kFunctions<T>;
}

REGARD_INSTANTIATE_FUNCTION(FormulaOpInfos);

Shape FormulaParameterInfo::shape() const {
  if (table.has_value()) return {table->count()};
  if (columns > 0) return {rows, columns};
  return rows > 0 ? Shape({rows}) : Shape();
}

bool FormulaGraph::UsesPositions() const {
  return std::any_of(nodes.begin(), nodes.end(), [](const FormulaNode& node) {
    return node.op == kQueryPosition || node.op == kKeyPosition;
  });
}

std::string FormulaGraph::SourceText(const FormulaNode& node) const {
  return Printable(
      absl::string_view(text).substr(node.range.begin, node.range.length));
}

std::string FormulaGraph::Text(int index) const {
  const FormulaNode& node = nodes[index];
  if (node.op == kNumber) return NumberText(node.number);
  if (node.parameter >= 0) return parameters[node.parameter].name;
  std::string of[4];
  for (size_t i = 0; i < node.operands.size(); ++i) {
    of[i] = Text(node.operands[i]);
  }
  absl::string_view form = FormulaOpInfoFor<double>(node.op).form;
  if (of[2] == "1") absl::ConsumePrefix(&form, "$2 * ");
  return absl::Substitute(form, of[0], of[1], of[2], of[3]);
}

}  // namespace regard
