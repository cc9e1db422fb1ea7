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
    cases.push_back(MakeCase(
        "GatherRows", leading.ToString(), {{table}},
        [=](auto&, auto in) { return GatherRows(in[0], ids, leading); }));
  };
  add({4, 17}, {3, 0, 3, 3, 1, 0}, {2, 3});
  add({4, 1}, {2}, {});
  add({4, 3}, {}, {0});
  return cases;
}

TEST(GatherTest, Gradients) { CheckGradients(Cases()); }

TEST(GatherTest, EveryOperationHasACase) {
  ExpectCaseForEachOperation("autodiff/ops/gather.h", Cases());
}

TEST(GatherTest, CopiesRows) {
  Tape<double> tape;
  Var<double> table = tape.Input({3, 2}, {1, 2, 3, 4, 5, 6});
  Var<double> y = GatherRows(table, {2, 0}, {1, 2});
  EXPECT_EQ(y.shape(), Shape({1, 2, 2}));
  EXPECT_THAT(y.span(), ElementsAre(5, 6, 1, 2));
}

// A table [4, 2] with storage of its own.
struct StoredTable {
  Var<double> Leaf(Tape<double>& tape) {
    return tape.Table(values.data(), grad.data(), {4, 2}, touched.data());
  }

  std::vector<double> values = {1, 2, 3, 4, 5, 6, 7, 8};
  std::vector<double> grad = std::vector<double>(8, 0.0);
  std::vector<uint8_t> touched = std::vector<uint8_t>(4, 0);
};

TEST(GatherTest, TheGradientOfATableTouchesTheChosenRowsOnly) {
  StoredTable stored;
  stored.grad[2] = 77;  // in row 1: neither read nor cleared
  Tape<double> tape;
  Var<double> y = GatherRows(stored.Leaf(tape), {2, 0, 2}, {3});
  tape.Backward(Sum(Square(y)));
  EXPECT_THAT(stored.touched, ElementsAre(1, 0, 1, 0));
  EXPECT_THAT(stored.grad, ElementsAre(2, 4, 77, 0, 20, 24, 0, 0));
}

TEST(GatherTest, ATableThatNobodyGathersFromIsNotTouched) {
  StoredTable stored;
  Tape<double> tape;
  Var<double> table = stored.Leaf(tape);
  Var<double> x = tape.Input({2}, {1, 2});
  tape.Backward(Sum(x) + 0 * Sum(GatherRows(table, {}, {0})));
  EXPECT_THAT(stored.touched, ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(stored.grad, ElementsAre(0, 0, 0, 0, 0, 0, 0, 0));
}

// As of weights tied to an embedding.
TEST(GatherTest, ATableMayBeReadAsAMatrixToo) {
  for (const bool gather_first : {true, false}) {
    StoredTable stored;
    Tape<double> tape;
    Var<double> table = stored.Leaf(tape);
    Var<double> loss;
    if (gather_first) {
      loss = Sum(GatherRows(table, {3}, {1}));
      loss = loss + Sum(table);
    } else {
      loss = Sum(table);
      loss = loss + Sum(GatherRows(table, {3}, {1}));
    }
    tape.Backward(loss);
    EXPECT_THAT(stored.touched, ElementsAre(1, 1, 1, 1));
    EXPECT_THAT(stored.grad, ElementsAre(1, 1, 1, 1, 1, 1, 2, 2));
  }
}

TEST(GatherDeathTest, RowsThatAreNotThere) {
  Tape<double> tape;
  Var<double> table = tape.Full({3, 2}, 0);
  EXPECT_DEATH(GatherRows(table, {3}, {1}), "row 3 of a table \\[3, 2\\]");
  EXPECT_DEATH(GatherRows(table, {0}, {2}), "ids for \\[2\\]");
}

}  // namespace
}  // namespace regard
