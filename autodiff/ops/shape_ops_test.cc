#include "autodiff/ops/shape_ops.h"

#include <vector>

#include "autodiff/tape.h"
#include "autodiff/testing/gradient_check.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::ElementsAre;

std::vector<GradientCase> Cases() {
  std::vector<GradientCase> cases;
  cases.push_back(MakeCase("Reshape", "", {{{2, 6}}}, [](auto&, auto in) {
    return in[0].Reshape({3, 4});
  }));
  const auto permute = [&](const Shape& shape, std::vector<int> axes) {
    cases.push_back(
        MakeCase("Permute", shape.ToString(), {{shape}},
                 [=](auto&, auto in) { return Permute(in[0], axes); }));
  };
  permute({2, 3, 4}, {2, 0, 1});
  permute({2, 3, 4}, {0, 2, 1});
  permute({2, 3, 4, 5}, {2, 3, 0, 1});
  permute({2, 3, 1, 2, 2}, {4, 3, 2, 1, 0});
  permute({2, 3}, {0, -1});
  permute({}, {});
  permute({0, 3}, {1, 0});
  cases.push_back(MakeCase("Transpose", "", {{{2, 3, 17}}},
                           [](auto&, auto in) { return Transpose(in[0]); }));
  for (const int axis : {0, 1, -1}) {
    cases.push_back(MakeCase("Stack", "", {{{2, 3}}, {{2, 3}}, {{2, 3}}},
                             [=](auto&, auto in) { return Stack(in, axis); }));
    cases.push_back(MakeCase("Concat", "", {{{2, 3}}, {{2, 3}}},
                             [=](auto&, auto in) { return Concat(in, axis); }));
    cases.push_back(MakeCase("Slice", "", {{{3, 4}}}, [=](auto&, auto in) {
      return Slice(in[0], axis, 1, 2);
    }));
  }
  cases.push_back(MakeCase("Stack", "of ever fewer rows",
                           {{{3, 2}}, {{3, 2}}, {{1, 2}}, {{0, 2}}},
                           [](auto&, auto in) { return Stack(in, 1); }));
  cases.push_back(MakeCase("Concat", "of differing extents, one 0",
                           {{{2, 1, 2}}, {{2, 0, 2}}, {{2, 3, 2}}},
                           [](auto&, auto in) { return Concat(in, 1); }));
  cases.push_back(
      MakeCase("Slice", "of nothing", {{{3, 4}}},
               [](auto&, auto in) { return Slice(in[0], 1, 4, 0); }));
  cases.push_back(
      MakeCase("RowsOfExample", "", {{{2, 3, 4, 2}}},
               [](auto&, auto in) { return RowsOfExample(in[0], 1, 1, 2); }));
  const auto broadcast = [&](const Shape& from, const Shape& to) {
    cases.push_back(
        MakeCase("BroadcastTo", from.ToString(), {{from}},
                 [=](auto&, auto in) { return BroadcastTo(in[0], to); }));
  };
  broadcast({}, {2, 3});
  broadcast({3}, {2, 3});
  broadcast({2, 1}, {4, 2, 17});
  broadcast({2, 3}, {2, 3});
  broadcast({1, 3}, {0, 3});
  return cases;
}

TEST(ShapeOpsTest, Gradients) { CheckGradients(Cases()); }

class ShapeOpsValueTest : public ::testing::Test {
 protected:
  Tape<double> tape_;
  Var<double> x_ = tape_.Input({2, 3}, {1, 2, 3, 4, 5, 6});
};

TEST_F(ShapeOpsValueTest, TransposeSwapsTheLastTwoAxes) {
  Var<double> y = Transpose(x_);
  EXPECT_EQ(y.shape(), Shape({3, 2}));
  EXPECT_THAT(y.span(), ElementsAre(1, 4, 2, 5, 3, 6));
}

TEST_F(ShapeOpsValueTest, PermuteNamesTheSourceOfEachAxis) {
  Var<double> y = Permute(x_.Reshape({1, 2, 3}), {2, 0, 1});
  EXPECT_EQ(y.shape(), Shape({3, 1, 2}));
  EXPECT_THAT(y.span(), ElementsAre(1, 4, 2, 5, 3, 6));
}

TEST_F(ShapeOpsValueTest, ConcatJoinsAlongEitherAxis) {
  const Var<double> parts[] = {x_, x_};
  EXPECT_THAT(Concat<double>(parts, 0).span(),
              ElementsAre(1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6));
  EXPECT_THAT(Concat<double>(parts, 1).span(),
              ElementsAre(1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6));
}

TEST_F(ShapeOpsValueTest, StackMakesANewAxis) {
  const Var<double> parts[] = {x_, x_};
  Var<double> y = Stack<double>(parts, 1);
  EXPECT_EQ(y.shape(), Shape({2, 2, 3}));
  EXPECT_THAT(y.span(), ElementsAre(1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6));
  EXPECT_EQ(Stack<double>(parts, -1).shape(), Shape({2, 3, 2}));
}

TEST_F(ShapeOpsValueTest, StackFillsMissingRowsWithZeros) {
  const Var<double> parts[] = {x_, Slice(x_, 0, 0, 1), Slice(x_, 0, 0, 0)};
  Var<double> y = Stack<double>(parts, 1);
  EXPECT_EQ(y.shape(), Shape({2, 3, 3}));
  EXPECT_THAT(y.span(), ElementsAre(1, 2, 3, 1, 2, 3, 0, 0, 0,  //
                                    4, 5, 6, 0, 0, 0, 0, 0, 0));
}

TEST_F(ShapeOpsValueTest, SliceTakesARange) {
  EXPECT_THAT(Slice(x_, 1, 1, 2).span(), ElementsAre(2, 3, 5, 6));
  EXPECT_THAT(Slice(x_, 0, 1, 1).span(), ElementsAre(4, 5, 6));
}

TEST_F(ShapeOpsValueTest, RowsOfExampleTakesARangeOfEachHead) {
  Var<double> x = tape_.Input({2, 2, 3, 1}, {0, 1, 2, 3, 4, 5,  //
                                             6, 7, 8, 9, 10, 11});
  const Var<double> rows = RowsOfExample(x, 1, 1, 2);
  EXPECT_EQ(rows.shape(), Shape({1, 2, 2, 1}));
  EXPECT_THAT(rows.span(), ElementsAre(7, 8, 10, 11));
}

TEST_F(ShapeOpsValueTest, BroadcastToRepeats) {
  Var<double> column = tape_.Input({2, 1}, {1, 2});
  EXPECT_THAT(BroadcastTo(column, {2, 3}).span(),
              ElementsAre(1, 1, 1, 2, 2, 2));
}

using ShapeOpsDeathTest = ShapeOpsValueTest;

TEST_F(ShapeOpsDeathTest, NamesTheShapes) {
  EXPECT_DEATH(x_.Reshape({4}), "\\[4\\] of \\[2, 3\\]");
  EXPECT_DEATH(Permute(x_, {0, 0}), "axis 0 twice");
  EXPECT_DEATH(Slice(x_, 1, 2, 2), "Slice of 2 from 2 along axis 1");
  EXPECT_DEATH(RowsOfExample(x_.Reshape({1, 2, 3}), 0, 1, 2),
               "rows 1 to 3 of example 0 of \\[1, 2, 3\\]");
  EXPECT_DEATH(BroadcastTo(x_, {3, 3}), "BroadcastTo of \\[2, 3\\]");
  const Var<double> parts[] = {x_, Transpose(x_)};
  EXPECT_DEATH(Concat<double>(parts, 0), "\\[2, 3\\] and \\[3, 2\\]");
  EXPECT_DEATH(Stack<double>(parts, 0), "shapes in Stack");
  const Var<double> growing[] = {Slice(x_, 0, 0, 1), x_};
  EXPECT_DEATH(Stack<double>(growing, 1), "shapes in Stack");
  const Var<double> shrinking[] = {x_, Slice(x_, 0, 0, 1)};
  EXPECT_DEATH(Stack<double>(shrinking, 0), "shapes in Stack");
}

}  // namespace
}  // namespace regard
