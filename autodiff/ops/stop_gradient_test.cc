#include "autodiff/ops/stop_gradient.h"

#include "autodiff/ops/elementwise.h"
#include "autodiff/tape.h"
#include "autodiff/testing/gradient_check.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

TEST(StopGradientTest, SharesTheValueAndStopsTheGradient) {
  Tape<double> tape;
  Var<double> x = tape.Input({}, {3});
  Var<double> y = x * StopGradient(x);
  EXPECT_EQ(y.item(), 9);
  tape.Backward(y);
  EXPECT_EQ(*x.grad_data(), 3);  // not 6, the derivative of x^2
}

TEST(StopGradientTest, NothingReachesAnOperandBehindIt) {
  Tape<double> tape;
  Var<double> x = tape.Input({}, {3});
  tape.Backward(tape.Input({}, {2}) * StopGradient(Exp(x)));
  EXPECT_EQ(x.grad_data(), nullptr);
}

TEST(StopGradientTest, TheHeaderDeclaresNothingElse) {
  // The derivative by differences is not the gradient here, by intention.
  ExpectCaseForEachOperation("autodiff/ops/stop_gradient.h", {},
                             /*exempt=*/{"StopGradient"});
}

}  // namespace
}  // namespace regard
