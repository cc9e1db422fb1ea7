#include "autodiff/kernels/transcendental.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "autodiff/kernels/reduce.h"
#include "autodiff/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::IsNan;

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
  ExpectClose<float>(&Sin<float>, std::sin, -20000, 20000, 2e-7);
  ExpectClose<float>(&Cos<float>, std::cos, -20000, 20000, 2e-7);
}

TEST(TranscendentalTest, DoubleAgreesWithLibm) {
  ExpectClose<double>(&Exp<double>, std::exp, -200, 200, 1e-14);
  ExpectClose<double>(&Log<double>, std::log, 1e-9, 100, 1e-14);
  ExpectClose<double>(&Tanh<double>, std::tanh, -12, 12, 1e-15);
  ExpectClose<double>(&Sigmoid<double>, ReferenceSigmoid, -20, 20, 1e-14);
  ExpectClose<double>(&Erf<double>, std::erf, -5, 5, 1e-15);
  ExpectClose<double>(&Sin<double>, std::sin, -20000, 20000, 1e-15);
  ExpectClose<double>(&Cos<double>, std::cos, -20000, 20000, 1e-15);
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
       {&Exp<float>, &Log<float>, &Tanh<float>, &Sigmoid<float>, &Erf<float>,
        &Sin<float>, &Cos<float>}) {
    ExpectSameBitsEverywhere<float>(kernel);
  }
  for (const auto kernel :
       {&Exp<double>, &Log<double>, &Tanh<double>, &Sigmoid<double>,
        &Erf<double>, &Sin<double>, &Cos<double>}) {
    ExpectSameBitsEverywhere<double>(kernel);
  }
}

// Calls f(x, y) for every 61st float x, from -0 to NaN, where y is the result
// of the kernel. Also calls it for all floats next to the ends of the range of
// Exp.
template <typename F>
void ForFloats(Kernel<float> kernel, F f) {
  constexpr int64_t kBlock = 4096;
  std::vector<float> x(kBlock);
  std::vector<float> y(kBlock);
  const auto run = [&](uint64_t first, uint64_t step) {
    for (int64_t i = 0; i < kBlock; ++i) {
      x[i] = std::bit_cast<float>(static_cast<uint32_t>(first + step * i));
    }
    kernel(x.data(), y.data(), kBlock);
    for (int64_t i = 0; i < kBlock; ++i) f(x[i], y[i]);
  };
  constexpr uint64_t kStep = 61;
  for (uint64_t first = 0; first < uint64_t{1} << 32; first += kBlock * kStep) {
    run(first, kStep);
  }
  for (const float end : {-87.336544F, 88.722839F, 88.3763F, -88.3763F}) {
    run(std::bit_cast<uint32_t>(end) - kBlock / 2, 1);
  }
}

// Whether y satisfies the contract of Exp() if `exact` is the exact result.
template <typename T, typename Wide>
bool IsExp(T y, Wide exact) {
  if (std::isnan(exact)) return std::isnan(y);
  const T rounded = static_cast<T>(exact);
  if (std::isinf(rounded)) return y == rounded;
  if (exact < static_cast<Wide>(std::numeric_limits<T>::min())) return y == 0;
  const Wide ulp = std::ldexp(
      Wide{1}, std::ilogb(exact) + 1 - std::numeric_limits<T>::digits);
  return std::abs(static_cast<Wide>(y) - exact) <= 2 * ulp;
}

TEST(ExpTest, EveryFloatIsWithinTwoUlpOrInfOrZero) {
  int64_t faults = 0;
  ForFloats(&Exp<float>, [&](float x, float y) {
    if (IsExp(y, std::exp(static_cast<double>(x)))) return;
    if (++faults <= 10) ADD_FAILURE() << "exp(" << x << ") is " << y;
  });
  EXPECT_EQ(faults, 0);
}

TEST(ExpTest, DoubleIsWithinTwoUlpOrInfOrZero) {
  std::vector<double> x = {std::numeric_limits<double>::infinity(),
                           -std::numeric_limits<double>::infinity(),
                           std::numeric_limits<double>::quiet_NaN(),
                           0.0,
                           1000.0,
                           -1000.0};
  for (const double end : {709.782712893384, -708.3964185322641}) {
    double below = end;
    double above = end;
    for (int i = 0; i < 1000; ++i) {
      x.push_back(below = std::nextafter(below, -1e9));
      x.push_back(above = std::nextafter(above, 1e9));
    }
    x.push_back(end);
  }
  for (int i = 0; i < 300000; ++i) x.push_back(-720 + i * 0.0048);
  std::vector<double> y(x.size());
  Exp(x.data(), y.data(), static_cast<int64_t>(x.size()));
  for (size_t i = 0; i < x.size(); ++i) {
    ASSERT_TRUE(IsExp(y[i], std::exp(static_cast<long double>(x[i]))))
        << "exp(" << x[i] << ") is " << y[i];
  }
}

TEST(ExpTest, IsExactlyOneAtZero) {
  for (const float x : {0.0F, -0.0F}) {
    float y = 0;
    Exp(&x, &y, 1);
    EXPECT_EQ(y, 1);
  }
}

#ifdef __FMA__
// The digest is the same for every instruction set that has FMA.
TEST(ExpTest, HasTheSameBitsOnAllLevels) {
  uint64_t digest = kHashSeed;
  std::vector<float> x(1000);
  std::vector<float> y(1000);
  for (int i = 0; i < 1000; ++i) x[i] = -100 + 0.2F * static_cast<float>(i);
  Exp(x.data(), y.data(), 1000);
  for (const float element : y) {
    digest = Hash(std::bit_cast<uint32_t>(element), digest);
  }
  EXPECT_EQ(digest, 15332588817387025188u);
}
#endif

TEST(TranscendentalTest, BoundedFunctionsStayInTheirBounds) {
  for (const auto kernel : {&Tanh<float>, &Erf<float>, &Sigmoid<float>}) {
    const float lowest = kernel == &Sigmoid<float> ? 0 : -1;
    int64_t faults = 0;
    ForFloats(kernel, [&](float x, float y) {
      faults += std::isnan(x) ? !std::isnan(y) : !(lowest <= y && y <= 1);
    });
    EXPECT_EQ(faults, 0);
  }
}

TEST(TranscendentalTest, LimitsAreReached) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float x[] = {-kInfinity, -100, 100, kInfinity};
  float y[4];
  Sigmoid(x, y, 4);
  EXPECT_THAT(y, ElementsAre(0, 0, 1, 1));
  Tanh(x, y, 4);
  EXPECT_THAT(y, ElementsAre(-1, -1, 1, 1));
  Erf(x, y, 4);
  EXPECT_THAT(y, ElementsAre(-1, -1, 1, 1));
  const float of_log[] = {0, 1, kInfinity, -1};
  Log(of_log, y, 4);
  EXPECT_THAT(y, ElementsAre(-kInfinity, 0, kInfinity, IsNan()));
}

TEST(TranscendentalTest, NanStaysNan) {
  const float x = std::numeric_limits<float>::quiet_NaN();
  for (const auto kernel :
       {&Exp<float>, &Log<float>, &Tanh<float>, &Sigmoid<float>, &Erf<float>}) {
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
