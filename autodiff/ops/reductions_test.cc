#include "autodiff/ops/reductions.h"

#include <cmath>
#include <vector>

#include "autodiff/tape.h"
#include "autodiff/testing/gradient_check.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::ElementsAre;

template <typename F>
void AddCases(const char* name, std::vector<GradientCase>* cases, F f) {
  cases->push_back(MakeCase(name, "all", {{{3, 5}}},
                            [=](auto&, auto in) { return f(in[0]); }));
  cases->push_back(MakeCase(name, "all of one", {{{}}},
                            [=](auto&, auto in) { return f(in[0]); }));
  for (const int axis : {0, 1, -1}) {
    for (const bool keep : {false, true}) {
      cases->push_back(
          MakeCase(name, "one axis", {{{2, 3, 17}}},
                   [=](auto&, auto in) { return f(in[0], axis, keep); }));
    }
  }
  cases->push_back(MakeCase(name, "no rows", {{{0, 3}}}, [=](auto&, auto in) {
    return f(in[0], 1, false);
  }));
}

std::vector<GradientCase> Cases() {
  std::vector<GradientCase> cases;
  AddCases("Sum", &cases, [](auto... args) { return Sum(args...); });
  AddCases("Mean", &cases, [](auto... args) { return Mean(args...); });
  AddCases("Max", &cases, [](auto... args) { return Max(args...); });
  cases.push_back(MakeCase("Sum", "of nothing", {{{3, 0}}},
                           [](auto&, auto in) { return Sum(in[0], 1); }));
  return cases;
}

TEST(ReductionsTest, Gradients) { CheckGradients(Cases()); }

class ReductionsValueTest : public ::testing::Test {
 protected:
  Tape<double> tape_;
  Var<double> x_ = tape_.Input({2, 3}, {1, 2, 3, 6, 5, 4});
};

TEST_F(ReductionsValueTest, OverAll) {
  EXPECT_EQ(Sum(x_).item(), 21);
  EXPECT_EQ(Mean(x_).item(), 3.5);
  EXPECT_EQ(Max(x_).item(), 6);
}

TEST_F(ReductionsValueTest, OverEitherAxis) {
  EXPECT_THAT(Sum(x_, 0).span(), ElementsAre(7, 7, 7));
  EXPECT_THAT(Sum(x_, 1).span(), ElementsAre(6, 15));
  EXPECT_THAT(Mean(x_, -1).span(), ElementsAre(2, 5));
  EXPECT_THAT(Max(x_, 0).span(), ElementsAre(6, 5, 4));
  EXPECT_EQ(Max(x_, 0).shape(), Shape({3}));
  EXPECT_EQ(Max(x_, 0, /*keep=*/true).shape(), Shape({1, 3}));
}

TEST_F(ReductionsValueTest, TheFirstOfEqualMaximaGetsTheGradient) {
  Var<double> x = tape_.Input({3}, {1, 2, 2});
  tape_.Backward(Max(x));
  EXPECT_THAT(std::vector<double>(x.grad_data(), x.grad_data() + 3),
              ElementsAre(0, 1, 0));
}

TEST_F(ReductionsValueTest, TheFirstNanIsTheMaximum) {
  const double nan = std::nan("");
  Var<double> x = tape_.Input({4}, {1, nan, 3, nan});
  const Var<double> y = Max(x);
  EXPECT_TRUE(std::isnan(y.item()));
  tape_.Backward(y);
  EXPECT_THAT(std::vector<double>(x.grad_data(), x.grad_data() + 4),
              ElementsAre(0, 1, 0, 0));
}

using ReductionsDeathTest = ReductionsValueTest;

TEST_F(ReductionsDeathTest, RejectsEmptyReductions) {
  EXPECT_DEATH(Max(tape_.Full({2, 0}, 0), 1),
               "Max over no elements of \\[2, 0\\]");
  EXPECT_DEATH(Mean(tape_.Full({0}, 0)), "Mean over no elements");
  EXPECT_DEATH(Sum(x_, 2), "axis 2 of \\[2, 3\\]");
}

}  // namespace
}  // namespace regard
