#include <cmath>
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
    const Shape row({shape.cols()});
    cases.push_back(MakeCase(
        "LayerNorm", shape.ToString(), {{shape}, {row}, {row}},
        [](auto&, auto in) { return LayerNorm(in[0], in[1], in[2], 0.1); }));
    cases.push_back(MakeCase(
        "LayerNorm", "without bias: " + shape.ToString(), {{shape}, {row}},
        [](auto&, auto in) { return LayerNorm(in[0], in[1], {}, 0.1); }));
  }
  return cases;
}

TEST(LayerNormTest, Gradients) { CheckGradients(Cases()); }

TEST(LayerNormTest, AgreesWithItsComposition) {
  for (const int64_t size : kRaggedSizes) {
    CheckAgainstReference(MakeFusedKernelCase(
        "LayerNorm", {{{3, size}}, {{size}}, {{size}}},
        [](auto&, auto in) { return LayerNorm(in[0], in[1], in[2], 0.01); },
        [](auto&, auto in) {
          auto centred = in[0] - Mean(in[0], -1, /*keep=*/true);
          auto variance = Mean(Square(centred), -1, /*keep=*/true);
          return centred / Sqrt(variance + 0.01) * in[1] + in[2];
        }));
  }
}

TEST(LayerNormTest, HasMeanZeroAndVarianceOneBeforeGainAndBias) {
  Tape<double> tape;
  Var<double> x = tape.Input({1, 2}, {1, 5});
  Var<double> gain = tape.Input({2}, {3, 2});
  Var<double> bias = tape.Input({2}, {10, 20});
  EXPECT_THAT(LayerNorm(x, gain, bias, 0).span(), ElementsAre(7, 22));
  EXPECT_THAT(LayerNorm(x, gain, {}, 0).span(), ElementsAre(-3, 2));
  const double scale = 1 / std::sqrt(5.);
  EXPECT_THAT(LayerNorm(x, gain, bias, 1).span(),
              ElementsAre(DoubleNear(10 - 6 * scale, 1e-14),
                          DoubleNear(20 + 4 * scale, 1e-14)));
}

TEST(LayerNormTest, BitsOfARowDoNotDependOnTheRowsAround) {
  for (const int64_t size : kRaggedSizes) {
    Tape<float> tape;
    Var<float> x = tape.Constant({9, size});
    for (int64_t i = 0; i < x.size(); ++i) x.data()[i] = 1.f / (3 + i);
    Var<float> gain = tape.Full({size}, 0.7f);
    Var<float> bias = tape.Full({size}, 0.3f);
    Var<float> all = LayerNorm(x, gain, bias, 1e-5);
    for (int64_t row = 0; row < 9; ++row) {
      Var<float> one = LayerNorm(Slice(x, 0, row, 1), gain, bias, 1e-5);
      EXPECT_EQ(std::memcmp(one.data(), all.data() + row * size,
                            size * sizeof(float)),
                0)
          << "row " << row << " of " << size;
    }
  }
}

TEST(LayerNormDeathTest, GainOfAnotherWidth) {
  Tape<double> tape;
  Var<double> x = tape.Full({2, 3}, 0);
  Var<double> row = tape.Full({2}, 0);
  EXPECT_DEATH(LayerNorm(x, row, row, 0), "LayerNorm of \\[2, 3\\] with gain");
}

}  // namespace
}  // namespace regard
