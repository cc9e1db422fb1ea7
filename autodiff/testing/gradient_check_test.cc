#include "autodiff/testing/gradient_check.h"

#include <cstdint>
#include <limits>

#include "autodiff/gradient_failures.h"
#include "autodiff/tape.h"
#include "gmock/gmock.h"
#include "gtest/gtest-spi.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Returns x^2 with the gradient factor * x. The right factor is 2.
template <typename T>
Var<T> SquareWithGradient(Var<T> x, T factor) {
  const Var<T> y = x.tape().New(x.shape(), x.needs_grad());
  for (int64_t i = 0; i < x.size(); ++i) {
    y.data()[i] = x.data()[i] * x.data()[i];
  }
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

TEST(GradientCheckTest, NamesAnInputWithoutRecordedGradient) {
  const GradientCase test =
      MakeCase("Square", "", {{{1}}}, [](auto& tape, auto in) {
        const auto y = tape.NewLike(in[0], in[0].needs_grad());
        *y.data() = *in[0].data() * *in[0].data();
        return y;
      });
  EXPECT_THAT(GradientFailures({test}),
              ElementsAre(HasSubstr("records no gradient of this input")));
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
              d.BeginContribution();
              *d.data() = 2 * *x.data() * *z.grad_data();
            }
          });
          return z;
        });
        CheckGradients({test});
      },
      "on a standing gradient");
}

// Returns [x, constant]. The second element has no gradient.
template <typename T>
Var<T> Beside(Var<T> x, double constant) {
  const Var<T> y = x.tape().New({2}, x.needs_grad());
  y.data()[0] = *x.data();
  y.data()[1] = static_cast<T>(constant);
  y.tape().Record("Beside", y, [=] {
    if (auto d = x.grad_ref()) {
      d.AddEach([=](int64_t) { return y.grad_data()[0]; });
    }
  });
  return y;
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(GradientCheckTest, AcceptsEqualInfinities) {
  for (const double infinity : {kInfinity, -kInfinity}) {
    EXPECT_THAT(GradientFailures({MakeCase(
                    "Beside", "", {{{1}}},
                    [=](auto&, auto in) { return Beside(in[0], infinity); })}),
                IsEmpty());
  }
}

TEST(GradientCheckTest, SeesOtherInfinitiesInFloat) {
  GradientCase test = MakeCase("Beside", "", {{{1}}}, [](auto&, auto in) {
    return Beside(in[0], kInfinity);
  });
  test.in_float = [](auto&, auto in) { return Beside(in[0], -kInfinity); };
  EXPECT_THAT(GradientFailures({test}),
              ElementsAre(HasSubstr("value in float, element 1: -inf")));
}

TEST(GradientCheckTest, ComparesFiniteElementsBesideAnInfinity) {
  GradientCase test = MakeCase("Beside", "", {{{1}}}, [](auto&, auto in) {
    return Beside(in[0], kInfinity);
  });
  test.in_float = [](auto& tape, auto in) {
    const Var<float> y = Beside(in[0], kInfinity);
    const Var<float> wrong = tape.NewLike(y, y.needs_grad());
    wrong.data()[0] = y.data()[0] + 1;
    wrong.data()[1] = y.data()[1];
    tape.Record("Wrong", wrong, [=] {
      if (auto d = y.grad_ref()) {
        d.AddEach([=](int64_t i) { return wrong.grad_data()[i]; });
      }
    });
    return wrong;
  };
  EXPECT_THAT(GradientFailures({test}),
              ElementsAre(HasSubstr("value in float, element 0")));
}

TEST(CheckAgainstReferenceTest, AcceptsEqualFunctions) {
  const auto square = [](auto&, auto in) {
    return SquareWithGradient(in[0], {2});
  };
  for (const int64_t size : kRaggedSizes) {
    CheckAgainstReference(
        MakeFusedKernelCase("Square", {{{2, size}}}, square, square));
  }
}

}  // namespace
}  // namespace regard
