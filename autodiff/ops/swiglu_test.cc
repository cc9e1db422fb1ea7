#include "autodiff/ops/swiglu.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "autodiff/ops/elementwise.h"
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
       std::vector<Shape>{{1}, {3, 5}, {2, 3, 17}, {0, 3}}) {
    cases.push_back(
        MakeCase("SwiGlu", shape.ToString(), {{shape, -3, 3}, {shape}},
                 [](auto&, auto in) { return SwiGlu(in[0], in[1]); }));
  }
  return cases;
}

TEST(SwiGluTest, Gradients) { CheckGradients(Cases()); }

TEST(SwiGluTest, AgreesWithItsComposition) {
  for (const int64_t size : kRaggedSizes) {
    CheckAgainstReference(MakeFusedKernelCase(
        "SwiGlu", {{{3, size}, -4, 4}, {{3, size}}},
        [](auto&, auto in) { return SwiGlu(in[0], in[1]); },
        [](auto&, auto in) { return in[0] * Sigmoid(in[0]) * in[1]; }));
  }
}

TEST(SwiGluTest, MatchesKnownValues) {
  Tape<double> tape;
  const Var<double> gate = tape.Input({3}, {0, std::log(3), -std::log(3)});
  const Var<double> x = tape.Input({3}, {5, 2, 2});
  EXPECT_THAT(SwiGlu(gate, x).span(),
              ElementsAre(0, DoubleNear(1.5 * std::log(3), 1e-14),
                          DoubleNear(-0.5 * std::log(3), 1e-14)));
}

TEST(SwiGluDeathTest, RefusesTwoShapes) {
  Tape<double> tape;
  EXPECT_DEATH(SwiGlu(tape.Full({2}, 0), tape.Full({3}, 0)),
               "SwiGlu of \\[2\\] and \\[3\\]");
}

}  // namespace
}  // namespace regard
