#include "autodiff/ops/gather.h"

#include <cstdint>
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

TEST(GatherDeathTest, RowsThatAreNotThere) {
  Tape<double> tape;
  Var<double> table = tape.Full({3, 2}, 0);
  EXPECT_DEATH(GatherRows(table, {3}, {1}), "row 3 of a table \\[3, 2\\]");
  EXPECT_DEATH(GatherRows(table, {0}, {2}), "ids for \\[2\\]");
}

}  // namespace
}  // namespace regard
