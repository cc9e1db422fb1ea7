#include "attention/mixers/short_convolution.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/reductions.h"
#include "autodiff/ops/shape_ops.h"
#include "autodiff/tape.h"
#include "autodiff/testing/allocation_counter.h"
#include "autodiff/testing/gradient_check.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<TestInputSpec> Inputs(int64_t time, int64_t channels,
                                  int64_t taps) {
  return {{{2, time, channels}}, {{channels, taps}}};
}

TEST(CausalConvolutionTest, Gradients) {
  std::vector<GradientCase> cases;
  for (const int64_t time : {0, 1, 3, 9}) {
    for (const int64_t taps : {1, 2, 4}) {
      for (const int64_t channels : {1, 5}) {
        cases.push_back(MakeCase(
            "CausalConvolution",
            std::to_string(time) + " positions, " + std::to_string(taps) +
                " taps, channels " + std::to_string(channels),
            Inputs(time, channels, taps),
            [](auto&, auto in) { return CausalConvolution(in[0], in[1]); }));
      }
    }
  }
  cases.push_back(MakeCase("Silu", "a row", {{{7}, -4, 4}},
                           [](auto&, auto in) { return Silu(in[0]); }));
  CheckGradients(cases);
}

// The reference multiplies shifted copies of the input by columns of the weight
// and sums them.
TEST(CausalConvolutionTest, AgreesWithASumOfShiftedPositions) {
  for (const int64_t channels : kRaggedSizes) {
    CheckAgainstReference(MakeFusedKernelCase(
        std::to_string(channels) + " channels", Inputs(9, channels, 4),
        [](auto&, auto in) { return CausalConvolution(in[0], in[1]); },
        []<typename T>(Tape<T>& tape, absl::Span<const Var<T>> in) {
          const int64_t channels = in[0].dim(2);
          const Var<T> padded =
              Concat<T>({tape.Full({2, 3, channels}, T(0)), in[0]}, 1);
          Var<T> sum = tape.Full({2, 9, channels}, T(0));
          for (int64_t i = 0; i < 4; ++i) {
            sum = sum + Slice(padded, 1, i, 9) *
                            Slice(in[1], 1, i, 1).Reshape({channels});
          }
          return sum;
        }));
  }
}

TEST(CausalConvolutionTest, TheLastTapIsThePositionItself) {
  Tape<double> tape;
  const Var<double> x = tape.Input({1, 4, 2}, {1, 5, 2, 6, 3, 7, 4, 8});
  const Var<double> weight = tape.Input({2, 3}, {100, 10, 1, 0, 0, 1});
  EXPECT_THAT(CausalConvolution(x, weight).span(),
              ElementsAre(1, 5, 12, 6, 123, 7, 234, 8));
  EXPECT_THAT(CausalConvolution(tape.Constant({1, 0, 2}), weight).span(),
              IsEmpty());
}

TEST(CausalConvolutionTest, AWarmStepMakesNoHeapAllocation) {
  Tape<float> tape;
  const std::vector<float> numbers(2 * 70 * 5, .5F);
  const auto step = [&] {
    tape.Reset();
    tape.Backward(Sum(CausalConvolution(
        tape.Input({2, 70, 5}, numbers),
        tape.Input({5, 4}, absl::MakeConstSpan(numbers).first(20)))));
  };
  if (!CountsAllocations()) GTEST_SKIP() << "not in this build";
  step();
  step();
  const int64_t before = AllocationCount();
  step();
  EXPECT_EQ(AllocationCount(), before);
}

TEST(CausalConvolutionDeathTest, RefusesShapesThatDoNotFit) {
  Tape<float> tape;
  EXPECT_DEATH(CausalConvolution(tape.Full({1, 2, 3}, 0), tape.Full({4, 2}, 0)),
               "of \\[1, 2, 3\\] with weight \\[4, 2\\]");
  EXPECT_DEATH(CausalConvolution(tape.Full({1, 2, 3}, 0), tape.Full({3, 0}, 0)),
               "with weight \\[3, 0\\]");
}

}  // namespace
}  // namespace regard
