#include "attention/formula/operations.h"

#include "autodiff/ops/elementwise.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

template <typename T>
Var<T> Elementwise(FormulaOp op, double exponent,
                   absl::Span<const Var<T>> operands) {
  const Var<T> x = operands[0];
  switch (op) {
    case FormulaOp::kAdd:
      return x + operands[1];
    case FormulaOp::kSubtract:
      return x - operands[1];
    case FormulaOp::kMultiply:
      return x * operands[1];
    case FormulaOp::kDivide:
      return x / operands[1];
    case FormulaOp::kNegate:
      return -x;
    case FormulaOp::kPower:
      return exponent == 2 ? Square(x) : Pow(x, static_cast<T>(exponent));
    case FormulaOp::kTanh:
      return Tanh(x);
    case FormulaOp::kSigmoid:
      return Sigmoid(x);
    case FormulaOp::kRelu:
      return Relu(x);
    case FormulaOp::kSoftplus:
      return Softplus(x);
    case FormulaOp::kExp:
      return Exp(x);
    case FormulaOp::kLog:
      return Log(x);
    case FormulaOp::kAbs:
      return Abs(x);
    case FormulaOp::kSqrt:
      return Sqrt(x);
    case FormulaOp::kCos:
      return Cos(x);
    case FormulaOp::kSin:
      return Sin(x);
    case FormulaOp::kMin:
      return Minimum(x, operands[1]);
    case FormulaOp::kMax:
      return Maximum(x, operands[1]);
    default:
      REGARD_CHECK(op == FormulaOp::kWhere) << static_cast<int>(op);
      return Where(operands[1] - x, operands[2], operands[3]);
  }
}

template Var<float> Elementwise(FormulaOp, double,
                                absl::Span<const Var<float>>);
template Var<double> Elementwise(FormulaOp, double,
                                 absl::Span<const Var<double>>);

}  // namespace regard
