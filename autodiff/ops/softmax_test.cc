#include "autodiff/ops/softmax.h"

#include <cmath>
#include <cstring>
#include <vector>

#include "autodiff/ops/elementwise.h"
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
  for (const Shape& shape : std::vector<Shape>{
           {}, {1}, {3, 1}, {3, 5}, {2, 3, 17}, {0, 3}, {2, 0}}) {
    cases.push_back(MakeCase("Softmax", shape.ToString(), {{shape, -3, 3}},
                             [](auto&, auto in) { return Softmax(in[0]); }));
    cases.push_back(MakeCase("LogSoftmax", shape.ToString(), {{shape, -3, 3}},
                             [](auto&, auto in) { return LogSoftmax(in[0]); }));
  }
  return cases;
}

TEST(SoftmaxTest, Gradients) { CheckGradients(Cases()); }

TEST(SoftmaxTest, AgreesWithItsComposition) {
  for (const int64_t size : kRaggedSizes) {
    CheckAgainstReference(MakeFusedKernelCase(
        "Softmax", {{{3, size}, -3, 3}},
        [](auto&, auto in) { return Softmax(in[0]); },
        [](auto&, auto in) {
          auto exp = Exp(in[0]);
          return exp / Sum(exp, -1, /*keep=*/true);
        }));
  }
}

TEST(SoftmaxTest, IsAFractionForEachElement) {
  Tape<double> tape;
  Var<double> x = tape.Input({2, 2}, {0, std::log(3), 1000, 1000});
  EXPECT_THAT(
      Softmax(x).span(),
      ElementsAre(DoubleNear(0.25, 1e-15), DoubleNear(0.75, 1e-15), 0.5, 0.5));
  EXPECT_THAT(LogSoftmax(x).span(),
              ElementsAre(DoubleNear(std::log(0.25), 1e-14),
                          DoubleNear(std::log(0.75), 1e-14),
                          DoubleNear(-std::log(2), 1e-14),
                          DoubleNear(-std::log(2), 1e-14)));
}

TEST(SoftmaxTest, MinusInfinityHasFractionZero) {
  Tape<float> tape;
  Var<float> x = tape.Input({3}, {1, -INFINITY, 1});
  EXPECT_THAT(Softmax(x).span(), ElementsAre(0.5, 0, 0.5));
}

TEST(SoftmaxTest, BitsOfARowDoNotDependOnTheRowsAround) {
  for (const int64_t size : kRaggedSizes) {
    Tape<float> tape;
    Var<float> x = tape.Constant({9, size});
    for (int64_t i = 0; i < x.size(); ++i) x.data()[i] = 1.f / (3 + i);
    for (const bool log : {false, true}) {
      Var<float> all = log ? LogSoftmax(x) : Softmax(x);
      for (int64_t row = 0; row < 9; ++row) {
        Var<float> part = Slice(x, 0, row, 1);
        Var<float> one = log ? LogSoftmax(part) : Softmax(part);
        EXPECT_EQ(std::memcmp(one.data(), all.data() + row * size,
                              size * sizeof(float)),
                  0)
            << "row " << row << " of " << size;
      }
    }
  }
}

}  // namespace
}  // namespace regard
