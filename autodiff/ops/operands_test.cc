// An absent operand, or an operand on another tape, must fail a check in every
// build, for each operation with several operands.
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/linear.h"
#include "autodiff/ops/loss.h"
#include "autodiff/ops/norm.h"
#include "autodiff/ops/recompute.h"
#include "autodiff/ops/reductions.h"
#include "autodiff/ops/shape_ops.h"
#include "autodiff/ops/softmax.h"
#include "autodiff/ops/swiglu.h"
#include "autodiff/recurrent/recurrent.h"
#include "autodiff/tape.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using V = Var<float>;
using Vars = std::vector<V>;

struct Operation {
  std::string name;
  std::vector<Shape> operands;
  std::function<void(const Vars&)> run;
};

std::vector<Operation> Operations() {
  const Shape m = {2, 2};
  const Shape row = {2};
  std::vector<Operation> operations = {
      {"Add", {m, m}, [](const Vars& v) { v[0] + v[1]; }},
      {"Multiply", {m, row}, [](const Vars& v) { v[0] * v[1]; }},
      {"Maximum", {{}, {}}, [](const Vars& v) { Maximum(v[0], v[1]); }},
      {"Where", {m, m, m}, [](const Vars& v) { Where(v[0], v[1], v[2]); }},
      {"MatMul", {m, m}, [](const Vars& v) { MatMul(v[0], v[1]); }},
      {"Linear", {m, m, row}, [](const Vars& v) { Linear(v[0], v[1], v[2]); }},
      {"Linear",
       {m, m, m},
       [](const Vars& v) { Linear(v[0], WeightColumns(v[1], 0, 2), v[2]); }},
      {"LayerNorm",
       {m, row, row},
       [](const Vars& v) { LayerNorm(v[0], v[1], v[2], 1e-5F); }},
      {"RmsNorm", {m, row}, [](const Vars& v) { RmsNorm(v[0], v[1], 1e-5F); }},
      {"SwiGlu", {m, m}, [](const Vars& v) { SwiGlu(v[0], v[1]); }},
      {"SquaredError", {m, m}, [](const Vars& v) { SquaredError(v[0], v[1]); }},
      {"LinearCrossEntropy",
       {m, m, row},
       [](const Vars& v) {
         LinearCrossEntropy(v[0], v[1], v[2], {0, 1});
       }},
      {"Concat", {m, m}, [](const Vars& v) { Concat<float>(v, 0); }},
      {"Stack", {m, m}, [](const Vars& v) { Stack<float>(v, 0); }},
      {"Recompute",
       {m, m},
       [](const Vars& v) {
         Recompute(v[0].tape(), absl::MakeConstSpan(v),
                   [](absl::Span<const V> in) { return in[0]; });
       }},
      {"RecomputeRows",
       {{1, 1, 2, 2}, m},
       [](const Vars& v) {
         RecomputeRows(
             v[0].tape(), absl::MakeConstSpan(v), {1, 1, 2, 2}, 2,
             [](absl::Span<const V> in, const RowBlock&) { return in[0]; });
       }},
      {"GruSequence",
       {{1, 1, 6}, {6, 2}, {1, 2}, {6}},
       [](const Vars& v) {
         GruSequence<float>({v[0], v[1], v[3], {v[2]}}, GruForm::kResetAfter);
       }},
      {"LstmSequence",
       {{1, 1, 8}, {8, 2}, {1, 2}, {1, 2}},
       [](const Vars& v) {
         LstmSequence<float>({v[0], v[1], {}, {v[2], v[3]}});
       }},
  };
  return operations;
}

TEST(OperandsDeathTest, AreOnOneTape) {
  for (const Operation& operation : Operations()) {
    for (size_t foreign = 0; foreign < operation.operands.size(); ++foreign) {
      Tape<float> tape;
      Tape<float> other;
      Vars operands;
      for (size_t i = 0; i < operation.operands.size(); ++i) {
        const Shape& shape = operation.operands[i];
        operands.push_back((i == foreign ? other : tape).Full(shape, 1));
      }
      EXPECT_DEATH(operation.run(operands),
                   operation.name + " of values on different tapes")
          << foreign;
      // If all operands are on one tape, the same values must pass the check.
      operands[foreign] =
          tape.Constant(operation.operands[foreign], operands[foreign].span());
      operation.run(operands);
    }
  }
}

TEST(OperandsDeathTest, AreOnTheTapeOfTheGradient) {
  Tape<float> tape;
  Tape<float> other;
  EXPECT_DEATH(tape.Backward(Sum(other.Input({1}, {3}))),
               "Backward\\(\\) of values on different tapes");
}

// An empty Var has the shape of a scalar. The test omits operations that reject
// this shape before they check their operands.
TEST(OperandsDeathTest, AreNotAbsent) {
  Tape<float> tape;
  const V x = tape.Full({}, 1);
  const V empty;
  const std::string expected = "of an empty Var.*requires a value";
  EXPECT_DEATH(x + empty, "Add " + expected);
  EXPECT_DEATH(empty + x, "Add " + expected);
  EXPECT_DEATH(tape.Full({2}, 1) * empty, "Multiply " + expected);
  EXPECT_DEATH(empty + 1, expected);
  EXPECT_DEATH(Tanh(empty), expected);
  EXPECT_DEATH(Sum(empty), expected);
  EXPECT_DEATH(Softmax(empty), expected);
  EXPECT_DEATH(SquaredError(x, empty), "SquaredError " + expected);
  EXPECT_DEATH(Stack<float>({x, empty}, 0), "Stack " + expected);
  EXPECT_DEATH(Stack<float>({empty, x}, 0), "Stack " + expected);
  EXPECT_DEATH(Where(empty, x, x), "Where " + expected);
  EXPECT_DEATH(empty.tape(), "tape\\(\\) " + expected);
  EXPECT_DEATH(empty.needs_grad(), "needs_grad\\(\\) " + expected);
  EXPECT_DEATH(empty.grad_ref(), "grad_ref\\(\\) " + expected);
  EXPECT_DEATH(empty.item(), "item\\(\\) " + expected);
  EXPECT_DEATH(empty.Reshape({1}), "Reshape\\(\\) " + expected);
  EXPECT_DEATH(tape.Backward(empty), "Backward\\(\\) " + expected);
}

TEST(OperandsTest, OptionalOperandsMayBeAbsent) {
  Tape<float> tape;
  const V m = tape.Full({2, 2}, 1);
  EXPECT_EQ(Linear(m, m, {}).data()[0], 2);
  EXPECT_EQ(LayerNorm(m, tape.Full({2}, 1), {}, 1e-5F).data()[0], 0);
  EXPECT_GT(LinearCrossEntropy(m, m, {}, {0, 1}).item(), 0);
}

}  // namespace
}  // namespace regard
