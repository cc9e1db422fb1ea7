#include "attention/mixer_layer.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "autodiff/ops/reductions.h"
#include "autodiff/tape.h"
#include "autodiff/testing/gradient_check.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int64_t kRows[] = {2, kNoRow, 0, 3, kNoRow, kNoRow};

TEST(TakeRowsTest, Gradients) {
  CheckGradients({MakeCase(
      "TakeRows", "rows that move, and rows that are left out", {{{2, 3, 4}}},
      [](auto&, auto in) { return TakeRows(in[0], kRows); })});
}

TEST(TakeRowsTest, RowsThatAreLeftOutReachNothing) {
  Tape<float> tape;
  const float nan = std::nanf("");
  const Var<float> x = tape.Input({2, 3, 1}, {10, nan, 30, 40, nan, nan});
  const Var<float> y = TakeRows(x, kRows);
  EXPECT_THAT(y.span(), ElementsAre(30, 0, 10, 40, 0, 0));
  tape.Backward(Sum(y));
  EXPECT_THAT(std::vector<float>(x.grad_data(), x.grad_data() + 6),
              ElementsAre(1, 0, 1, 1, 0, 0));
  EXPECT_THAT(TakeRows<float>(tape.Constant({0, 3, 2}), {}).span(), IsEmpty());
}

TEST(TakeRowsDeathTest, RefusesAnotherNumberOfRows) {
  Tape<float> tape;
  EXPECT_DEATH(TakeRows(tape.Full({2, 2, 1}, 0), kRows),
               "rows to take of \\[2, 2, 1\\]");
}

}  // namespace
}  // namespace regard
