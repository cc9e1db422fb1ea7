#include "autodiff/ops/gather.h"

#include <cstdint>
#include <vector>

#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/reductions.h"
#include "autodiff/tape.h"
#include "autodiff/testing/gradient_check.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::ElementsAre;

std::vector<GradientCase> Cases() {
  std::vector<GradientCase> cases;
  const auto add = [&](const Shape& table, std::vector<int32_t> ids,
                       const Shape& leading) {
    cases.push_back(
        MakeCase("Gather", leading.ToString(), {{table}},
                 [=](auto&, auto in) { return Gather(in[0], ids, leading); }));
  };
  add({4, 17}, {3, 0, 3, 3, 1, 0}, {2, 3});
  add({4, 1}, {2}, {});
  add({4, 3}, {}, {0});
  for (const std::vector<int32_t>& ids :
       {std::vector<int32_t>{2, 0, 2, 2, 1}, {1}, {}}) {
    cases.push_back(
        MakeCase("GatherColumns", Shape({3}).ToString(), {{{2, 3}}},
                 [=](auto&, auto in) { return GatherColumns(in[0], ids); }));
  }
  return cases;
}

TEST(GatherTest, Gradients) { CheckGradients(Cases()); }

TEST(GatherTest, CopiesRows) {
  Tape<double> tape;
  Var<double> table = tape.Input({3, 2}, {1, 2, 3, 4, 5, 6});
  Var<double> y = Gather(table, {2, 0}, {1, 2});
  EXPECT_EQ(y.shape(), Shape({1, 2, 2}));
  EXPECT_THAT(y.span(), ElementsAre(5, 6, 1, 2));
}

TEST(GatherTest, CopiesColumns) {
  Tape<double> tape;
  Var<double> table = tape.Input({2, 3}, {1, 2, 3, 4, 5, 6});
  Var<double> y = GatherColumns(table, {2, 0, 2, 2});
  EXPECT_EQ(y.shape(), Shape({2, 4}));
  EXPECT_THAT(y.span(), ElementsAre(3, 1, 3, 3, 6, 4, 6, 6));
  tape.Backward(Sum(y));
  EXPECT_THAT(std::vector<double>(table.grad_data(), table.grad_data() + 6),
              ElementsAre(1, 0, 3, 1, 0, 3));
}

struct SparseLeaf {
  explicit SparseLeaf(Tape<double>& tape)
      : leaf(tape.Leaf(values.data(), grad.data(), {4, 2}, /*sparse=*/true)) {}

  std::vector<double> values = {1, 2, 3, 4, 5, 6, 7, 8};
  std::vector<double> grad = std::vector<double>(8, 0.0);
  Var<double> leaf;
};

TEST(GatherTest, ASparseGradientIsWrittenInTheChosenRowsOnly) {
  Tape<double> tape;
  SparseLeaf table(tape);
  table.grad[2] = 77;  // row 1, neither read nor cleared
  Var<double> y = Gather(table.leaf, {2, 0, 2}, {3});
  tape.Backward(Sum(Square(y)));
  EXPECT_THAT(tape.touched_rows(table.leaf), ElementsAre(1, 0, 1, 0));
  EXPECT_THAT(table.grad, ElementsAre(2, 4, 77, 0, 20, 24, 0, 0));
}

TEST(GatherTest, WithoutIdsNoRowIsTouched) {
  Tape<double> tape;
  SparseLeaf table(tape);
  Var<double> x = tape.Input({2}, {1, 2});
  tape.Backward(Sum(x) + 0 * Sum(Gather(table.leaf, {}, {0})));
  EXPECT_THAT(tape.touched_rows(table.leaf), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(table.grad, ElementsAre(0, 0, 0, 0, 0, 0, 0, 0));
}

TEST(GatherTest, ADenseLeafHasNoTouchedRows) {
  Tape<double> tape;
  EXPECT_TRUE(tape.touched_rows(tape.Input({1, 1}, {1})).empty());
  double value = 1;
  EXPECT_TRUE(
      tape.touched_rows(tape.Leaf(&value, nullptr, {1, 1}, true)).empty());
}

TEST(GatherTest, ASparseLeafMayBeReadAsAMatrixToo) {
  for (const bool gather_first : {true, false}) {
    Tape<double> tape;
    SparseLeaf table(tape);
    Var<double> loss;
    if (gather_first) {
      loss = Sum(Gather(table.leaf, {3}, {1}));
      loss = loss + Sum(table.leaf);
    } else {
      loss = Sum(table.leaf);
      loss = loss + Sum(Gather(table.leaf, {3}, {1}));
    }
    tape.Backward(loss);
    EXPECT_THAT(tape.touched_rows(table.leaf), ElementsAre(1, 1, 1, 1));
    EXPECT_THAT(table.grad, ElementsAre(1, 1, 1, 1, 1, 1, 2, 2));
  }
}

// The rows of a reshaped leaf are not the rows of the leaf, so all rows of the
// leaf must be marked.
TEST(GatherTest, AReshapedSparseLeafIsDense) {
  Tape<double> tape;
  SparseLeaf table(tape);
  tape.Backward(Sum(Gather(table.leaf.Reshape({8, 1}), {7}, {1})));
  EXPECT_THAT(tape.touched_rows(table.leaf), ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(table.grad, ElementsAre(0, 0, 0, 0, 0, 0, 0, 1));
}

TEST(GatherDeathTest, RejectsMissingRows) {
  Tape<double> tape;
  Var<double> table = tape.Full({3, 2}, 0);
  EXPECT_DEATH(Gather(table, {3}, {1}), "row 3 of a table \\[3, 2\\]");
  EXPECT_DEATH(Gather(table, {0}, {2}), "ids for \\[2\\]");
  EXPECT_DEATH(GatherColumns(table, {2}), "column 2 of a table \\[3, 2\\]");
}

}  // namespace
}  // namespace regard
