#include "autodiff/ops/elementwise.h"

#include <cmath>
#include <cstddef>
#include <vector>

#include "autodiff/tape.h"
#include "autodiff/testing/gradient_check.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::IsNan;

// Values that are far enough from 0 to be divisors.
TestInputSpec Positive(const Shape& shape) { return {shape, 0.5, 2}; }
// Values on both sides of a kink at 0. The stencil does not reach across it.
TestInputSpec AwayFromZero(const Shape& shape) { return {shape, -2, 2, 0.1}; }

template <typename F>
void AddBinaryCases(const char* name, std::vector<GradientCase>* cases, F f) {
  const auto on = [=](auto&, auto in) { return f(in[0], in[1]); };
  const Shape shapes[][2] = {
      {{3, 5}, {3, 5}},
      {{}, {}},
      {{2, 3, 17}, {17}},
      {{3, 1}, {3, 5}},
      {{}, {2, 3}},
      {{2, 1, 5}, {1, 3, 5}},
      {{2, 1, 3, 1}, {4, 1, 2}},
      {{0, 3}, {3}},
      {{2, 3}, {2, 1}},
      {{1, 1}, {1}},
  };
  for (const auto& [a, b] : shapes) {
    cases->push_back(MakeCase(name, a.ToString() + " and " + b.ToString(),
                              {Positive(a), Positive(b)}, on));
  }
}

template <typename F>
void AddUnaryCases(const char* name, std::vector<GradientCase>* cases,
                   TestInputSpec (*domain)(const Shape&), F f) {
  for (const Shape& shape :
       std::vector<Shape>{{}, {0}, {1, 17}, {3, 5}, {2, 16}}) {
    cases->push_back(MakeCase(name, shape.ToString(), {domain(shape)},
                              [=](auto&, auto in) { return f(in[0]); }));
  }
}

std::vector<GradientCase> Cases() {
  std::vector<GradientCase> cases;
  AddBinaryCases("Add", &cases, [](auto a, auto b) { return Add(a, b); });
  AddBinaryCases("Subtract", &cases,
                 [](auto a, auto b) { return Subtract(a, b); });
  AddBinaryCases("Multiply", &cases,
                 [](auto a, auto b) { return Multiply(a, b); });
  AddBinaryCases("Divide", &cases, [](auto a, auto b) { return Divide(a, b); });
  AddBinaryCases("Maximum", &cases, [](auto a, auto b) {
    return Maximum(a, b + 2) + Maximum(a + 2, b);
  });
  AddBinaryCases("Minimum", &cases, [](auto a, auto b) {
    return Minimum(a, b + 2) + Minimum(a + 2, b);
  });
  const auto both = AwayFromZero;
  AddUnaryCases("operator+", &cases, both,
                [](auto x) { return 2 + (x + 0.5); });
  AddUnaryCases("operator-", &cases, both,
                [](auto x) { return -(2 - (x - 0.5)); });
  AddUnaryCases("operator*", &cases, both,
                [](auto x) { return 2 * (x * 0.75); });
  AddUnaryCases("operator/", &cases, both, [](auto x) { return 3 / (x / 2); });
  AddUnaryCases("Exp", &cases, both, [](auto x) { return Exp(x); });
  AddUnaryCases("Log", &cases, Positive, [](auto x) { return Log(x); });
  AddUnaryCases("Sqrt", &cases, Positive, [](auto x) { return Sqrt(x); });
  AddUnaryCases("Square", &cases, both, [](auto x) { return Square(x); });
  AddUnaryCases("Abs", &cases, both, [](auto x) { return Abs(x); });
  AddUnaryCases("Pow", &cases, both, [](auto x) { return Pow(x, 3); });
  AddUnaryCases("Pow", &cases, Positive, [](auto x) { return Pow(x, -2); });
  AddUnaryCases("Pow", &cases, Positive, [](auto x) { return Pow(x, 1.7); });
  AddUnaryCases("Sin", &cases, both, [](auto x) { return Sin(x); });
  AddUnaryCases("Cos", &cases, both, [](auto x) { return Cos(x); });
  AddUnaryCases("Tanh", &cases, both, [](auto x) { return Tanh(x); });
  AddUnaryCases("Sigmoid", &cases, both, [](auto x) { return Sigmoid(x); });
  AddUnaryCases("Relu", &cases, both, [](auto x) { return Relu(x); });
  AddUnaryCases("Gelu", &cases, both, [](auto x) { return Gelu(x); });
  AddUnaryCases("GeluTanh", &cases, both, [](auto x) { return GeluTanh(x); });
  AddUnaryCases("Softplus", &cases, both, [](auto x) { return Softplus(x); });
  const Shape shapes[][3] = {
      {{3, 5}, {3, 5}, {3, 5}}, {{}, {}, {}},
      {{0, 3}, {0, 3}, {3}},    {{2, 3, 17}, {17}, {}},
      {{17}, {3, 1}, {3, 17}},  {{1}, {1}, {1, 1}},
  };
  for (const auto& [condition, x, y] : shapes) {
    cases.push_back(
        MakeCase("Where", condition.ToString(),
                 {AwayFromZero(condition), AwayFromZero(x), AwayFromZero(y)},
                 [](auto&, auto in) { return Where(in[0], in[1], in[2]); }));
  }
  return cases;
}

TEST(ElementwiseTest, Gradients) { CheckGradients(Cases()); }

std::vector<double> Values(Var<double> x) {
  return {x.data(), x.data() + x.size()};
}
std::vector<double> Grad(Var<double> x) {
  return {x.grad_data(), x.grad_data() + x.size()};
}

class ElementwiseValueTest : public ::testing::Test {
 protected:
  Var<double> Input(std::vector<double> values) {
    return tape_.Input(Shape({static_cast<int64_t>(values.size())}), values);
  }

  // Returns f(x) for one number.
  double At(double x, Var<double> (*f)(Var<double>)) {
    return f(tape_.Input({}, {x})).item();
  }

  Tape<double> tape_;
};

// A small operation spends most of its time on memory accesses, so it must use
// little memory.
TEST(ElementwiseTest, ASmallOperationAndItsRecordFillTwoCacheLines) {
  Tape<float> tape;
  const Var<float> factor = tape.Full({8}, 2);
  Var<float> x = tape.Input({8}, std::vector<float>(8, 1));
  const size_t before = tape.high_water_bytes();
  for (int i = 0; i < 10; ++i) x = Tanh(x * factor + 1);
  // The first operation may begin in the middle of a cache line.
  EXPECT_LE(tape.high_water_bytes() - before, 30 * 128 + 64);
}

TEST_F(ElementwiseValueTest, ARowAndAColumnMakeATable) {
  Var<double> column = tape_.Input({2, 1}, {10, 20});
  Var<double> row = tape_.Input({3}, {1, 2, 3});
  Var<double> y = column - row;
  EXPECT_EQ(y.shape(), Shape({2, 3}));
  EXPECT_THAT(Values(y), ElementsAre(9, 8, 7, 19, 18, 17));
}

TEST_F(ElementwiseValueTest, ARepeatedOperandGetsTheSumOfItsGradients) {
  Var<double> column = tape_.Input({2, 1}, {10, 20});
  Var<double> row = tape_.Input({3}, {1, 2, 3});
  Var<double> y = column * row;
  if (auto d = y.grad_ref()) d.AddEach([](int64_t i) { return i; });
  tape_.BackwardTo({});
  // The gradient of y is [[0, 1, 2], [3, 4, 5]].
  EXPECT_THAT(Grad(column), ElementsAre(0 + 2 + 6, 3 + 8 + 15));
  EXPECT_THAT(Grad(row), ElementsAre(60, 10 + 80, 20 + 100));
}

TEST_F(ElementwiseValueTest, NumbersMayBeOnEitherSide) {
  Var<double> x = Input({1, 4});
  EXPECT_THAT(Values(x + 1), ElementsAre(2, 5));
  EXPECT_THAT(Values(1 - x), ElementsAre(0, -3));
  EXPECT_THAT(Values(x - 1), ElementsAre(0, 3));
  EXPECT_THAT(Values(2 / x), ElementsAre(2, 0.5));
  EXPECT_THAT(Values(x / 2), ElementsAre(0.5, 2));
  EXPECT_THAT(Values(-x * 3), ElementsAre(-3, -12));
}

TEST_F(ElementwiseValueTest, KinksHaveGradientZero) {
  Var<double> x = Input({-2, 0, 3});
  Var<double> y = Abs(x) * 10 + Relu(x);
  EXPECT_THAT(Values(y), ElementsAre(20, 0, 33));
  if (auto d = y.grad_ref()) d.AddEach([](int64_t) { return 1; });
  tape_.BackwardTo({});
  EXPECT_THAT(Grad(x), ElementsAre(-10, 0, 11));
}

TEST_F(ElementwiseValueTest, NanIsNotAnInactiveUnit) {
  EXPECT_TRUE(std::isnan(Relu(Input({std::nan("")})).item()));
  EXPECT_FALSE(std::signbit(Relu(Input({-0.0})).item()));
}

TEST_F(ElementwiseValueTest, RootsAndPowers) {
  Var<double> x = Input({-2, 0, 4});
  EXPECT_THAT(Values(Pow(x, 3)), ElementsAre(-8, 0, 64));
  EXPECT_THAT(Values(Pow(x, 0)), ElementsAre(1, 1, 1));
  EXPECT_THAT(Values(Square(x)), ElementsAre(4, 0, 16));
  EXPECT_EQ(At(4, Sqrt), 2);
  EXPECT_NEAR(Pow(tape_.Input({}, {4}), 1.5).item(), 8, 1e-13);
  EXPECT_EQ(Pow(tape_.Input({}, {2}), -2).item(), 0.25);
}

TEST(PowTest, WholePowersOfNegativeNumbers) {
  for (const double exponent : {-65, -64, -63, 64, 65, 66}) {
    Tape<double> tape;
    Var<double> x = tape.Input({2}, {-1.5, 1.5});
    Var<double> y = Pow(x, exponent);
    y.grad_ref().AddEach([](int64_t) { return 1; });
    tape.BackwardTo({});
    for (int64_t i = 0; i < 2; ++i) {
      const double value = std::pow(x.data()[i], exponent);
      const double slope = exponent * std::pow(x.data()[i], exponent - 1);
      EXPECT_NEAR(y.data()[i] / value, 1, 1e-13) << exponent;
      EXPECT_NEAR(x.grad_data()[i] / slope, 1, 1e-13) << exponent;
    }
  }
}

TEST_F(ElementwiseValueTest, Transcendentals) {
  EXPECT_NEAR(At(1, Exp), 2.718281828459045, 1e-14);
  EXPECT_NEAR(At(10, Log), 2.302585092994046, 1e-14);
  EXPECT_NEAR(At(2, Sin), 0.9092974268256817, 1e-14);
  EXPECT_NEAR(At(2, Cos), -0.4161468365471424, 1e-14);
  EXPECT_NEAR(At(0.5, Tanh), 0.46211715726000976, 1e-14);
  EXPECT_NEAR(At(0.5, Sigmoid), 0.6224593312018546, 1e-14);
  EXPECT_NEAR(At(1, Gelu), 0.8413447460685429, 1e-14);
  EXPECT_NEAR(At(1, GeluTanh), 0.8411919906082768, 1e-14);
}

TEST_F(ElementwiseValueTest, SoftplusIsPreciseAtBothEnds) {
  EXPECT_NEAR(At(0, Softplus), std::log(2), 1e-15);
  EXPECT_NEAR(At(-40, Softplus) / std::exp(-40), 1, 1e-14);
  EXPECT_EQ(At(1000, Softplus), 1000);
  Tape<float> tape;
  EXPECT_THAT(Softplus(tape.Input({}, {-20.f})).item() / std::exp(-20.f),
              FloatNear(1, 1e-6));
}

TEST_F(ElementwiseValueTest, WhereReadsOnlyTheChosenBranch) {
  const Var<double> condition = Input({1, 0, -1, 0.5, NAN});
  const Var<double> x = Input({1, INFINITY, NAN, 4, 5});
  const Var<double> y = Input({NAN, 20, 30, -INFINITY, 50});
  const Var<double> taken = Where(condition, x, Log(y));
  EXPECT_THAT(Values(taken),
              ElementsAre(1, std::log(20), std::log(30), 4, std::log(50)));
  if (auto d = taken.grad_ref()) d.AddEach([](int64_t) { return 60; });
  tape_.BackwardTo({});
  EXPECT_THAT(Grad(x), ElementsAre(60, 0, 0, 60, 0));
  EXPECT_EQ(Grad(y)[1], 3);
  EXPECT_EQ(condition.grad_data(), nullptr);
}

TEST_F(ElementwiseValueTest, TheLargerAndTheSmallerOfTwo) {
  const Var<double> a = Input({1, 3, 2, NAN, 0, -INFINITY});
  const Var<double> b = Input({2, 1, 2, 0, NAN, -INFINITY});
  const Var<double> larger = Maximum(a, b);
  const Var<double> smaller = Minimum(a, b);
  EXPECT_THAT(Values(larger),
              ElementsAre(2, 3, 2, IsNan(), IsNan(), -INFINITY));
  EXPECT_THAT(Values(smaller),
              ElementsAre(1, 1, 2, IsNan(), IsNan(), -INFINITY));
  larger.grad_ref().AddEach([](int64_t) { return 1; });
  smaller.grad_ref().AddEach([](int64_t) { return 10; });
  tape_.BackwardTo({});
  EXPECT_THAT(Grad(a), ElementsAre(10, 1, 11, 11, 0, 11));
  EXPECT_THAT(Grad(b), ElementsAre(1, 10, 0, 0, 11, 0));
}

// y has the gradient 0. The gradient of x must be 0, not NaN, even if the
// derivative is infinite.
TEST_F(ElementwiseValueTest, AGradientOfZeroStaysZero) {
  const double inf = INFINITY;
  const auto gradients = [&](double x, auto f) {
    std::vector<double> of_x;
    // x has the shape of the other operand, or is repeated.
    for (const Shape& shape : {Shape({2}), Shape({1})}) {
      const Var<double> in =
          tape_.Input(shape, std::vector<double>(shape.size(), x));
      const Var<double> y = f(in, Input({0, -inf}));
      y.grad_ref().AddEach([](int64_t) { return 0; });
      tape_.BackwardTo({});
      of_x.insert(of_x.end(), in.grad_data(), in.grad_data() + in.size());
      tape_.Reset();
    }
    return of_x;
  };
  const auto zeros = ElementsAre(0, 0, 0);
  EXPECT_THAT(gradients(0, [](auto x, auto) { return Log(x); }), zeros);
  EXPECT_THAT(gradients(0, [](auto x, auto) { return Sqrt(x); }), zeros);
  EXPECT_THAT(gradients(0, [](auto x, auto) { return 1 / x; }), zeros);
  EXPECT_THAT(gradients(0, [](auto x, auto) { return Pow(x, 0.5); }), zeros);
  EXPECT_THAT(gradients(0, [](auto x, auto) { return Pow(x, -1); }), zeros);
  EXPECT_THAT(gradients(inf, [](auto x, auto) { return Exp(x); }), zeros);
  EXPECT_THAT(gradients(-inf, [](auto x, auto) { return Square(x); }), zeros);
  EXPECT_THAT(gradients(inf, [](auto x, auto) { return Gelu(x); }), zeros);
  EXPECT_THAT(gradients(inf, [](auto x, auto) { return GeluTanh(x); }), zeros);
  EXPECT_THAT(gradients(1, [=](auto x, auto) { return x * inf; }), zeros);
  EXPECT_THAT(gradients(1, [](auto x, auto) { return x / 0; }), zeros);
  EXPECT_THAT(gradients(2, [](auto x, auto y) { return x * y; }), zeros);
  EXPECT_THAT(gradients(2, [](auto x, auto y) { return x / y; }), zeros);
  EXPECT_THAT(gradients(0, [](auto x, auto y) { return y / x; }), zeros);
}

TEST(ElementwiseDeathTest, ShapesThatDoNotBroadcast) {
  Tape<double> tape;
  Var<double> a = tape.Full({2, 3}, 1);
  Var<double> b = tape.Full({2}, 1);
  EXPECT_DEATH(a * b, "Multiply of \\[2, 3\\] and \\[2\\]");
}

}  // namespace
}  // namespace regard
