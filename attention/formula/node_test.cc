#include "attention/formula/node.h"

#include <string>
#include <vector>

#include "autodiff/tape.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using enum FormulaOp;

TEST(NodeTest, TheTableIsInTheOrderOfOperations) {
  const auto functions = FormulaOpInfos<float>();
  ASSERT_EQ(functions.size(), static_cast<size_t>(kDistance) + 1);
  for (size_t i = 0; i < functions.size(); ++i) {
    EXPECT_EQ(static_cast<size_t>(functions[i].op), i) << functions[i].form;
    EXPECT_EQ(FormulaOpInfos<double>()[i].op, functions[i].op);
  }
}

TEST(NodeTest, AFormGivesNameAndOperands) {
  EXPECT_EQ(FormulaOpInfoFor<float>(kTanh).name(), "tanh");
  EXPECT_EQ(FormulaOpInfoFor<float>(kTanh).operands(), 1);
  EXPECT_EQ(FormulaOpInfoFor<float>(kWhere).name(), "where");
  EXPECT_EQ(FormulaOpInfoFor<float>(kWhere).operands(), 4);
  EXPECT_EQ(FormulaOpInfoFor<float>(kQueries).name(), "q");
  EXPECT_EQ(FormulaOpInfoFor<float>(kQueries).operands(), 0);
  EXPECT_EQ(FormulaOpInfoFor<float>(kAdd).name(), "");
}

double ValueOf(FormulaOp op, const std::vector<double>& operands) {
  Tape<double> tape;
  std::vector<Var<double>> x;
  for (const double operand : operands) x.push_back(tape.Full({}, operand));
  return FormulaOpInfoFor<double>(op).value(x.data()).item();
}

TEST(NodeTest, Values) {
  EXPECT_EQ(ValueOf(kSubtract, {5, 3}), 2);
  EXPECT_EQ(ValueOf(kDivide, {1, 4}), 0.25);
  EXPECT_EQ(ValueOf(kPower, {3, 2}), 9);
  EXPECT_EQ(ValueOf(kPower, {2, -1}), 0.5);
  EXPECT_EQ(ValueOf(kMin, {2, 1}), 1);
  EXPECT_EQ(ValueOf(kMax, {2, 1}), 2);
  EXPECT_EQ(ValueOf(kWhere, {1, 2, 3, 4}), 3);
  EXPECT_EQ(ValueOf(kWhere, {2, 2, 3, 4}), 4);
}

TEST(NodeTest, AFactorOfOneIsNotShown) {
  FormulaGraph graph;
  for (const double factor : {0.5, 1.0}) {
    graph.nodes = {{.op = kQueries},
                   {.op = kKeys},
                   {.op = kNumber, .number = factor},
                   {.op = kInnerProducts, .operands = {0, 1, 2}},
                   {.op = kMax, .operands = {2, 3}}};
    EXPECT_EQ(graph.Text(4),
              factor == 1 ? "max(1, (q . k))" : "max(0.5, 0.5 * (q . k))");
  }
  graph.nodes[2].number = 1 + 1e-9;
  EXPECT_EQ(graph.Text(4), "max(1.000000001, 1.000000001 * (q . k))");
}

}  // namespace
}  // namespace regard
