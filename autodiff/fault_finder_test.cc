#include "autodiff/fault_finder.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/reductions.h"
#include "autodiff/tape.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::HasSubstr;

// Records an operation called `name` whose result is `value`.
Var<double> Made(Tape<double>& tape, const char* name, double value) {
  Var<double> y = tape.New({1}, true);
  *y.data() = value;
  tape.Record(name, y, [] {});
  return y;
}

TEST(FaultFinderTest, NamesTheFirstFaultForward) {
  Tape<double> tape;
  FaultFinder<double> finder(tape);
  NameScope<double> scope(tape, "decoder");
  Square(Square(tape.Input({2}, {1, 1e200})));
  EXPECT_THAT(finder.fault(), HasSubstr("Inf in the value of Square"));
  EXPECT_THAT(finder.fault(), HasSubstr("at decoder"));
}

TEST(FaultFinderTest, NamesTheFirstFaultBackward) {
  Tape<double> tape;
  FaultFinder<double> finder(tape);
  Var<double> x = tape.Input({1}, {0});
  Var<double> y;
  {
    NameScope<double> scope(tape, "norm");
    y = Sqrt(x);
  }
  tape.Backward(Sum(y));
  EXPECT_THAT(finder.fault(), HasSubstr("Inf in a gradient made by Sqrt"));
  EXPECT_THAT(finder.fault(), HasSubstr("at norm"));
}

TEST(FaultFinderTest, AcceptsOperationsThatGiveAScoreOfMinusInfinity) {
  Tape<double> tape;
  FaultFinder<double> finder(tape);
  tape.NotifyBeginScores();
  Made(tape, "Divide", INFINITY);
  const Var<double> score = Made(tape, "Negate", -INFINITY);
  tape.NotifyEndScores(score);
  EXPECT_EQ(finder.fault(), "");
  // Outside of scores, -inf must be a fault.
  Made(tape, "Log", -INFINITY);
  EXPECT_THAT(finder.fault(), HasSubstr("Inf in the value of Log"));
}

TEST(FaultFinderTest, NamesTheFirstInfinityOfAScoreOfInfinity) {
  Tape<double> tape;
  FaultFinder<double> finder(tape);
  tape.NotifyBeginScores();
  tape.NotifyEndScores(Made(tape, "Log", -INFINITY));
  tape.NotifyBeginScores();
  Made(tape, "Divide", INFINITY);
  tape.NotifyEndScores(Made(tape, "Add", INFINITY));
  EXPECT_THAT(finder.fault(), HasSubstr("Inf in the value of Divide"));
}

TEST(FaultFinderTest, NamesANaNInAScore) {
  Tape<double> tape;
  FaultFinder<double> finder(tape);
  tape.NotifyBeginScores();
  Made(tape, "Log", -INFINITY);
  tape.NotifyEndScores(Made(tape, "Subtract", NAN));
  EXPECT_THAT(finder.fault(), HasSubstr("NaN in the value of Subtract"));
}

TEST(FaultFinderTest, AcceptsANaNThatReachesNoScore) {
  Tape<double> tape;
  FaultFinder<double> finder(tape);
  tape.NotifyBeginScores();
  Made(tape, "Sqrt", NAN);
  tape.NotifyEndScores(Made(tape, "Where", 1));
  EXPECT_EQ(finder.fault(), "");
  tape.NotifyBeginScores();
  Made(tape, "Sqrt", NAN);
  tape.NotifyEndScores(Made(tape, "Add", NAN));
  EXPECT_THAT(finder.fault(), HasSubstr("NaN in the value of Sqrt"));
}

// The function is Sum(sqrt(x)) + Sum(x * 1) at x = 0. Sqrt makes the gradient
// infinite. The fault must name Sqrt, whether it contributes first or last.
TEST(FaultFinderTest, NamesAFaultInALaterContribution) {
  for (const bool sqrt_last : {false, true}) {
    Tape<double> tape;
    FaultFinder<double> finder(tape);
    Var<double> x = tape.Input({2}, {0, 1});
    Var<double> root, same;
    if (!sqrt_last) root = Sqrt(x);
    same = tape.New({2}, true);
    std::copy_n(x.data(), 2, same.data());
    tape.Record("Copy", same, [=] {
      if (auto d = x.grad_ref()) {
        d.AddEach([=](int64_t i) { return same.grad_data()[i]; });
      }
    });
    if (sqrt_last) root = Sqrt(x);
    Var<double> a = Sum(root), b = Sum(same);
    Var<double> y = tape.New({}, true);
    *y.data() = a.item() + b.item();
    tape.Record("Add", y, [=] {
      for (const Var<double>& sum : {a, b}) {
        if (auto d = sum.grad_ref()) {
          d.AddEach([=](int64_t) { return *y.grad_data(); });
        }
      }
    });
    tape.Backward(y);
    EXPECT_THAT(finder.fault(), HasSubstr("Inf in a gradient made by Sqrt"));
  }
}

TEST(FaultFinderTest, NamesAFaultInPartsOfAGradient) {
  for (const bool sparse : {false, true}) {
    Tape<double> tape;
    FaultFinder<double> finder(tape);
    std::vector<double> value(4), grad(4);
    Var<double> x = tape.Leaf(value.data(), grad.data(), {2, 2}, sparse);
    Var<double> y = tape.New({}, true);
    *y.data() = 0;
    for (const double share : {std::nan(""), 1.0}) {
      tape.Record(share == 1 ? "Good" : "Bad", y, [=] {
        const int32_t rows[] = {1};
        if (auto d = x.grad_ref()) d.BeginRows(rows)[2] += share;
      });
    }
    tape.Backward(y);
    EXPECT_THAT(finder.fault(), HasSubstr("NaN in a gradient made by Bad"));
  }
}

TEST(FaultFinderTest, NamesAFaultInDeferredWork) {
  Tape<double> tape;
  FaultFinder<double> finder(tape);
  Var<double> x = tape.Input({1}, {0});
  Var<double> y = tape.New({}, true);
  *y.data() = 0;
  {
    NameScope<double> scope(tape, "layer");
    tape.Record("Op", y, [=] {
      x.tape().Defer("Work", [=] {
        if (auto d = x.grad_ref()) d.AddEach([](int64_t) { return NAN; });
      });
    });
  }
  tape.Backward(y);
  EXPECT_THAT(finder.fault(), HasSubstr("NaN in a gradient made by Work"));
  EXPECT_THAT(finder.fault(), HasSubstr("at layer"));
}

TEST(FaultFinderTest, NamesAFaultInTheSeed) {
  Tape<double> tape;
  FaultFinder<double> finder(tape);
  tape.Backward(tape.Input({1}, {0}), NAN);
  EXPECT_THAT(finder.fault(), HasSubstr("made by the start of Backward()"));
}

TEST(FaultFinderTest, RestoresThePreviousObserver) {
  Tape<double> tape;
  FaultFinder<double> outer(tape);
  {
    FaultFinder<double> inner(tape);
    Made(tape, "Log", NAN);
    EXPECT_NE(inner.fault(), "");
  }
  EXPECT_EQ(outer.fault(), "");
  EXPECT_EQ(tape.observer(), &outer);
}

TEST(FaultFinderTest, FindsTheNextFaultOnceTheFirstIsCleared) {
  Tape<double> tape;
  FaultFinder<double> finder(tape);
  Made(tape, "Log", NAN);
  Made(tape, "Exp", INFINITY);
  EXPECT_THAT(finder.fault(), HasSubstr("NaN in the value of Log"));
  finder.clear_fault();
  Made(tape, "Exp", INFINITY);
  EXPECT_THAT(finder.fault(), HasSubstr("Inf in the value of Exp"));
}

}  // namespace
}  // namespace regard
