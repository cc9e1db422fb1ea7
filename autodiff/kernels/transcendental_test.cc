#include "autodiff/kernels/transcendental.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "autodiff/kernels/reduce.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

template <typename T>
using Kernel = void (*)(const T*, T*, int64_t);

template <typename T>
void ExpectClose(Kernel<T> kernel, double (*reference)(double), double low,
                 double high, double tolerance) {
  std::vector<T> x(1001);
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<T>(low + (high - low) * static_cast<double>(i) / 1000);
  }
  std::vector<T> y(x.size());
  kernel(x.data(), y.data(), static_cast<int64_t>(x.size()));
  for (size_t i = 0; i < x.size(); ++i) {
    const double expected = reference(static_cast<double>(x[i]));
    EXPECT_NEAR(y[i], expected, tolerance * std::max(1.0, std::abs(expected)))
        << "at " << x[i];
  }
}

double ReferenceSigmoid(double x) { return 1 / (1 + std::exp(-x)); }

TEST(TranscendentalTest, FloatAgreesWithLibm) {
  ExpectClose<float>(&Exp<float>, std::exp, -80, 80, 4e-7);
  ExpectClose<float>(&Log<float>, std::log, 1e-6, 100, 4e-7);
  ExpectClose<float>(&Tanh<float>, std::tanh, -12, 12, 6e-7);
  ExpectClose<float>(&Sigmoid<float>, ReferenceSigmoid, -20, 20, 4e-7);
  ExpectClose<float>(&Erf<float>, std::erf, -5, 5, 6e-7);
}

TEST(TranscendentalTest, DoubleAgreesWithLibm) {
  ExpectClose<double>(&Exp<double>, std::exp, -200, 200, 1e-14);
  ExpectClose<double>(&Log<double>, std::log, 1e-9, 100, 1e-14);
  ExpectClose<double>(&Tanh<double>, std::tanh, -12, 12, 1e-15);
  ExpectClose<double>(&Sigmoid<double>, ReferenceSigmoid, -20, 20, 1e-14);
  ExpectClose<double>(&Erf<double>, std::erf, -5, 5, 1e-15);
}

template <typename T>
void ExpectSameBitsEverywhere(Kernel<T> kernel) {
  std::vector<T> x(70);
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = T(0.05) + T(0.1) * static_cast<T>(i);
  }
  std::vector<T> whole(x.size());
  kernel(x.data(), whole.data(), static_cast<int64_t>(x.size()));
  for (size_t begin = 0; begin < x.size(); ++begin) {
    for (const size_t length : {1, 2, 7, 15, 16, 17, 33}) {
      if (begin + length > x.size()) continue;
      std::vector<T> part(length);
      kernel(x.data() + begin, part.data(), static_cast<int64_t>(length));
      for (size_t i = 0; i < length; ++i) {
        ASSERT_EQ(part[i], whole[begin + i]) << begin << " " << length;
      }
    }
  }
}

TEST(TranscendentalTest, AnElementsBitsDoNotDependOnItsPosition) {
  for (const auto kernel :
       {&Exp<float>, &Log<float>, &Tanh<float>, &Sigmoid<float>, &Erf<float>}) {
    ExpectSameBitsEverywhere<float>(kernel);
  }
  for (const auto kernel : {&Exp<double>, &Log<double>, &Tanh<double>,
                            &Sigmoid<double>, &Erf<double>}) {
    ExpectSameBitsEverywhere<double>(kernel);
  }
}

TEST(TranscendentalTest, ExpOfMinusInfinityIsExactlyZero) {
  for (const float x : {-std::numeric_limits<float>::infinity(), -200.0f}) {
    float y = 1;
    Exp(&x, &y, 1);
    EXPECT_EQ(y, 0);
  }
  const double x = -std::numeric_limits<double>::infinity();
  double y = 1;
  Exp(&x, &y, 1);
  EXPECT_EQ(y, 0);
}

TEST(TranscendentalTest, NanStaysNan) {
  const float x = std::numeric_limits<float>::quiet_NaN();
  for (const auto kernel : {&Exp<float>, &Tanh<float>, &Sigmoid<float>}) {
    float y = 1;
    kernel(&x, &y, 1);
    EXPECT_TRUE(std::isnan(y));
  }
}

template <typename T>
void ExpectExpAndSumHasTheBitsOfItsParts(int64_t n) {
  std::vector<T> x(n), shifted(n), apart(n), together(n);
  for (int64_t i = 0; i < n; ++i) x[i] = T(0.37) * static_cast<T>(i % 11);
  const T shift = T(1.3);
  for (int64_t i = 0; i < n; ++i) shifted[i] = x[i] - shift;
  Exp(shifted.data(), apart.data(), n);
  EXPECT_EQ(ExpAndSum(x.data(), shift, n, together.data()),
            SumRow(apart.data(), n))
      << n;
  EXPECT_EQ(together, apart) << n;
  ExpAndSum(x.data(), shift, n, x.data());
  EXPECT_EQ(x, apart) << n << " in place";
}

TEST(TranscendentalTest, ExpAndSumHasTheBitsOfItsParts) {
  for (const int64_t n : {0, 1, 7, 8, 15, 16, 17, 31, 32, 33, 100}) {
    ExpectExpAndSumHasTheBitsOfItsParts<float>(n);
    ExpectExpAndSumHasTheBitsOfItsParts<double>(n);
  }
}

TEST(TranscendentalTest, ExpAndSumByHand) {
  const std::vector<float> x = {2, 3};
  std::vector<float> y(2);
  EXPECT_NEAR(ExpAndSum(x.data(), 3.0F, 2, y.data()), 1.36787944, 1e-6);
  EXPECT_NEAR(y[0], 0.36787944, 1e-7);
  EXPECT_EQ(y[1], 1);
}

}  // namespace
}  // namespace regard
