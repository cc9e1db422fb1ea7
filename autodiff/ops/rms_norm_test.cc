#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/norm.h"
#include "autodiff/ops/reductions.h"
#include "autodiff/ops/shape_ops.h"
#include "autodiff/tape.h"
#include "autodiff/testing/gradient_check.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

std::vector<GradientCase> Cases() {
  std::vector<GradientCase> cases;
  for (const Shape& shape :
       std::vector<Shape>{{5}, {3, 5}, {2, 3, 17}, {0, 3}, {2, 1}}) {
    cases.push_back(
        MakeCase("RmsNorm", shape.ToString(), {{shape}, {{shape.cols()}}},
                 [](auto&, auto in) { return RmsNorm(in[0], in[1], 0.1); }));
  }
  return cases;
}

TEST(RmsNormTest, Gradients) { CheckGradients(Cases()); }

TEST(RmsNormTest, AgreesWithItsComposition) {
  for (const int64_t size : kRaggedSizes) {
    CheckAgainstReference(MakeFusedKernelCase(
        "RmsNorm", {{{3, size}}, {{size}}},
        [](auto&, auto in) { return RmsNorm(in[0], in[1], 0.01); },
        [](auto&, auto in) {
          auto mean_square = Mean(Square(in[0]), -1, /*keep=*/true);
          return in[0] / Sqrt(mean_square + 0.01) * in[1];
        }));
  }
}

TEST(RmsNormTest, HasMeanSquareOneBeforeGain) {
  Tape<double> tape;
  const Var<double> x = tape.Input({1, 2}, {1, 7});
  const Var<double> gain = tape.Input({2}, {10, 5});
  EXPECT_THAT(RmsNorm(x, gain, 0).span(),
              ElementsAre(DoubleNear(2, 1e-14), DoubleNear(7, 1e-14)));
  EXPECT_THAT(
      RmsNorm(x, gain, 11).span(),
      ElementsAre(DoubleNear(10. / 6, 1e-14), DoubleNear(35. / 6, 1e-14)));
}

TEST(RmsNormTest, BitsOfARowDoNotDependOnTheRowsAround) {
  for (const int64_t size : kRaggedSizes) {
    Tape<float> tape;
    const Var<float> x = tape.Constant({9, size});
    for (int64_t i = 0; i < x.size(); ++i) x.data()[i] = 1.f / (3 + i);
    const Var<float> gain = tape.Full({size}, 0.7f);
    const Var<float> all = RmsNorm(x, gain, 1e-5f);
    for (int64_t row = 0; row < 9; ++row) {
      const Var<float> one = RmsNorm(Slice(x, 0, row, 1), gain, 1e-5f);
      EXPECT_EQ(std::memcmp(one.data(), all.data() + row * size,
                            size * sizeof(float)),
                0)
          << "row " << row << " of " << size;
    }
  }
}

TEST(RmsNormDeathTest, GainOfAnotherWidth) {
  Tape<double> tape;
  const Var<double> x = tape.Full({2, 3}, 0);
  EXPECT_DEATH(RmsNorm(x, tape.Full({2}, 0), 0), "RmsNorm of \\[2, 3\\]");
}

}  // namespace
}  // namespace regard
