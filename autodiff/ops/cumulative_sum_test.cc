#include "autodiff/ops/cumulative_sum.h"

#include <vector>

#include "autodiff/ops/linear.h"
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
  for (const Shape& shape : std::vector<Shape>{
           {1, 1}, {3, 1}, {1, 5}, {3, 5}, {2, 3, 17}, {0, 3}, {2, 0}}) {
    for (const int axis : {0, -2, -1}) {
      cases.push_back(
          MakeCase("CumulativeSum", shape.ToString(), {{shape}},
                   [=](auto&, auto in) { return CumulativeSum(in[0], axis); }));
    }
  }
  return cases;
}

TEST(CumulativeSumTest, Gradients) { CheckGradients(Cases()); }

TEST(CumulativeSumTest, AddsAllElementsUpToEachOne) {
  Tape<float> tape;
  const Var<float> x = tape.Input({2, 3}, {1, 2, 4, 8, 16, 32});
  EXPECT_THAT(CumulativeSum(x, 1).span(), ElementsAre(1, 3, 7, 8, 24, 56));
  const Var<float> down = CumulativeSum(x, 0);
  EXPECT_THAT(down.span(), ElementsAre(1, 2, 4, 9, 18, 36));
  tape.Backward(Sum(down));
  EXPECT_THAT(std::vector<float>(x.grad_data(), x.grad_data() + 6),
              ElementsAre(2, 2, 2, 1, 1, 1));
}

TEST(CumulativeSumTest, IsAProductWithATriangle) {
  for (const int64_t size : kRaggedSizes) {
    CheckAgainstReference(MakeFusedKernelCase(
        "sizes", {{{2, size, 3}}},
        [](auto&, auto in) { return CumulativeSum(in[0], -2); },
        [=](auto& tape, auto in) {
          auto triangle = tape.Full({size, size}, 0);
          for (int64_t i = 0; i < size; ++i) {
            for (int64_t j = 0; j <= i; ++j) triangle.at(i, j) = 1;
          }
          return MatMul(triangle, in[0]);
        }));
  }
}

TEST(CumulativeSumDeathTest, RejectsAMissingAxis) {
  Tape<float> tape;
  EXPECT_DEATH(CumulativeSum(tape.Full({2, 3}, 0), 2), "axis 2 of \\[2, 3\\]");
}

}  // namespace
}  // namespace regard
