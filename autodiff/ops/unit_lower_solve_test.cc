#include "autodiff/ops/unit_lower_solve.h"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/linear.h"
#include "autodiff/ops/shape_ops.h"
#include "autodiff/tape.h"
#include "autodiff/testing/gradient_check.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<TestInputSpec> Inputs(int64_t n, int64_t m) {
  return {{{2, n, n}, -.4, .4}, {{2, n, m}}};
}

// Row t is b[t] minus the product of a[t, 0 .. t - 1] and the previous rows.
template <typename T>
Var<T> RowByRow(Var<T> a, Var<T> b) {
  Var<T> x = Slice(b, 1, 0, 1);
  for (int64_t t = 1; t < b.dim(1); ++t) {
    const Var<T> factors = Slice(Slice(a, 1, t, 1), 2, 0, t);
    x = Concat<T>({x, Slice(b, 1, t, 1) - MatMul(factors, x)}, 1);
  }
  return x;
}

TEST(UnitLowerSolveTest, Gradients) {
  std::vector<GradientCase> cases;
  for (const int64_t n : {0, 1, 5, 17, 35}) {
    for (const int64_t m : {0, 1, 3}) {
      cases.push_back(MakeCase(
          "UnitLowerSolve", std::to_string(n) + " by " + std::to_string(m),
          Inputs(n, m),
          [](auto&, auto in) { return UnitLowerSolve(in[0], in[1]); }));
    }
  }
  CheckGradients(cases);
}

TEST(UnitLowerSolveTest, AgreesWithSubstitution) {
  for (const int64_t n : kRaggedSizes) {
    CheckAgainstReference(MakeFusedKernelCase(
        std::to_string(n) + " rows", Inputs(n, 3),
        [](auto&, auto in) { return UnitLowerSolve(in[0], in[1]); },
        [](auto&, auto in) { return RowByRow(in[0], in[1]); }));
  }
}

TEST(UnitLowerSolveTest, SubtractsWhatEarlierRowsContribute) {
  Tape<double> tape;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Var<double> a =
      tape.Input({3, 3}, {nan, nan, nan, 2, nan, nan, 3, 4, nan});
  const Var<double> b = tape.Input({3, 2}, {1, 10, 5, 0, 7, 0});
  // The rows of the solution are b0, b1 - 2 * x0 and b2 - 3 * x0 - 4 * x1.
  EXPECT_THAT(UnitLowerSolve(a, b).span(), ElementsAre(1, 10, 3, -20, -8, 50));
  EXPECT_THAT(
      UnitLowerSolve(tape.Constant({2, 0, 0}), tape.Constant({2, 0, 3})).span(),
      IsEmpty());
}

TEST(UnitLowerSolveTest, BitsOfARowDependOnNoLaterRow) {
  constexpr int64_t kRows = 50;
  const auto values = TestInputValues({{{kRows, kRows}}, {{kRows, 5}}});
  Tape<float> tape;
  const auto input = [&](size_t i, const Shape& shape) {
    return tape.Input(shape,
                      std::vector<float>(values[i].begin(), values[i].end()));
  };
  const Var<float> a = input(0, {kRows, kRows});
  const Var<float> b = input(1, {kRows, 5});
  const Var<float> whole = UnitLowerSolve(a, b);
  for (const int64_t n : {1, 15, 16, 17, 33}) {
    const Var<float> part =
        UnitLowerSolve(Slice(Slice(a, 0, 0, n), 1, 0, n), Slice(b, 0, 0, n));
    for (int64_t i = 0; i < part.size(); ++i) {
      ASSERT_EQ(part.data()[i], whole.data()[i]) << n << " rows, element " << i;
    }
  }
}

TEST(UnitLowerSolveDeathTest, RefusesShapesThatDoNotFit) {
  Tape<float> tape;
  EXPECT_DEATH(UnitLowerSolve(tape.Full({2, 3, 3}, 0), tape.Full({2, 4, 1}, 0)),
               "UnitLowerSolve of \\[2, 3, 3\\] and \\[2, 4, 1\\]");
}

}  // namespace
}  // namespace regard
