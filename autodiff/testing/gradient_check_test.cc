#include "autodiff/testing/gradient_check.h"

#include <cstdint>

#include "autodiff/tape.h"
#include "gtest/gtest-spi.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

// x^2, whose gradient is `factor` x.
template <typename T>
Var<T> SquareWithGradient(Var<T> x, T factor) {
  const Var<T> y = x.tape().New(x.shape(), x.needs_grad());
  for (int64_t i = 0; i < x.size(); ++i)
    y.data()[i] = x.data()[i] * x.data()[i];
  y.tape().Record("Square", y, [=] {
    if (auto d = x.grad_ref()) {
      d.AddEach(
          [=](int64_t i) { return factor * x.data()[i] * y.grad_data()[i]; });
    }
  });
  return y;
}

TEST(GradientCheckTest, AcceptsARightGradient) {
  CheckGradients({MakeCase("Square", "", {{{2, 3}}}, [](auto&, auto in) {
    return SquareWithGradient(in[0], {2});
  })});
}

TEST(GradientCheckTest, NamesTheWorstEntryOfAWrongGradient) {
  EXPECT_NONFATAL_FAILURE(
      {
        GradientCase test = MakeCase("Square", "", {{{1}}}, [](auto&, auto in) {
          return SquareWithGradient(in[0], {2.001});
        });
        CheckGradients({test});
      },
      "worst: output 0 by element 0 of input 0");
}

TEST(GradientCheckTest, SeesAnAssignmentInPlaceOfAnAddition) {
  EXPECT_NONFATAL_FAILURE(
      {
        GradientCase test = MakeCase("Square", "", {{{1}}}, [](auto&, auto in) {
          auto x = in[0];
          auto y = SquareWithGradient(x, {2});
          auto z = x.tape().New(x.shape(), x.needs_grad());
          *z.data() = *y.data();
          x.tape().Record("Assign", z, [=] {
            if (auto d = x.grad_ref()) {
              d.MarkTouched();
              *d.data() = 2 * *x.data() * *z.grad_data();
            }
          });
          return z;
        });
        CheckGradients({test});
      },
      "on a standing gradient");
}

TEST(CheckAgainstReferenceTest, AcceptsEqualFunctions) {
  const auto square = [](auto&, auto in) {
    return SquareWithGradient(in[0], {2});
  };
  for (const int64_t size : kRaggedSizes) {
    CheckAgainstReference(
        MakeReferenceCase("Square", {{{2, size}}}, square, square));
  }
}

}  // namespace
}  // namespace regard
