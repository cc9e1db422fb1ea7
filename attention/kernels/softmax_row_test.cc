#include "attention/kernels/softmax_row.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "autodiff/kernels/transcendental.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

template <typename T>
std::vector<T> Weights(const std::vector<T>& x,
                       const uint8_t* visible = nullptr) {
  const auto n = static_cast<int64_t>(x.size());
  std::vector<T> weights(x.size());
  ShiftByMax(x.data(), visible, n, weights.data());
  Exp(weights.data(), weights.data(), n);
  Normalize(n, weights.data());
  return weights;
}

template <typename T>
void ExpectSharesOfExponentials(T tolerance) {
  for (int n = 1; n <= 70; ++n) {
    std::vector<T> x;
    for (int i = 0; i < n; ++i) x.push_back(std::sin(T(3) * T(i)) * T(4));
    double sum = 0;
    for (const T score : x) sum += std::exp(static_cast<double>(score));
    const std::vector<T> weights = Weights(x);
    for (int i = 0; i < n; ++i) {
      EXPECT_NEAR(weights[i], std::exp(static_cast<double>(x[i])) / sum,
                  tolerance)
          << i << " of " << n;
    }
  }
}

TEST(SoftmaxRowTest, IsTheFractionOfExponentials) {
  ExpectSharesOfExponentials<float>(1e-6f);
  ExpectSharesOfExponentials<double>(1e-14);
}

TEST(SoftmaxRowTest, TheLargestScoreMayBeAtAnyPosition) {
  for (int n = 1; n <= 40; ++n) {
    for (int place = 0; place < n; ++place) {
      std::vector<float> x(n, -1000.0f);
      x[place] = 1000.0f;
      EXPECT_EQ(Weights(x)[place], 1.0f) << place << " of " << n;
    }
  }
}

TEST(SoftmaxRowTest, MinusInfinityHasWeightZero) {
  constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();
  EXPECT_THAT(Weights<float>({2, kMinusInfinity, 2}), ElementsAre(0.5, 0, 0.5));
  EXPECT_THAT(Weights(std::vector<float>(19, kMinusInfinity)), Each(0.0f));
}

TEST(SoftmaxRowTest, MaskedScoresHaveWeightZeroAtAnyPosition) {
  for (int n = 1; n <= 40; ++n) {
    for (int hidden = 0; hidden < n; ++hidden) {
      std::vector<float> x(n, 2.0f);
      x[hidden] = 1e30f;
      std::vector<uint8_t> visible(n, 1);
      visible[hidden] = 0;
      const std::vector<float> weights = Weights(x, visible.data());
      for (int i = 0; i < n; ++i) {
        const float share = 1.0f / static_cast<float>(n - 1);
        EXPECT_FLOAT_EQ(weights[i], i == hidden ? 0.0f : share) << i;
      }
    }
  }
}

TEST(SoftmaxRowTest, TheMeanIgnoresValuesOfWeightZero) {
  for (int n = 2; n <= 40; ++n) {
    std::vector<float> weights(n, 1.0f);
    std::vector<float> values(n, 3.0f);
    weights[n / 2] = 0;
    values[n / 2] = NAN;
    EXPECT_FLOAT_EQ(NormalizeAndMean(n, values.data(), weights.data()), 3.0f);
    EXPECT_EQ(weights[n / 2], 0);
    EXPECT_FLOAT_EQ(weights[0], 1.0f / static_cast<float>(n - 1));
  }
}

TEST(SoftmaxRowTest, WritesOnlyItsRow) {
  std::vector<float> x(24, 7.0f);
  ShiftByMax(x.data(), nullptr, 20, x.data());
  for (int i = 0; i < 24; ++i) EXPECT_EQ(x[i], i < 20 ? 0.0f : 7.0f);
  Normalize(19, x.data());
  for (int i = 0; i < 24; ++i) EXPECT_EQ(x[i], i < 20 ? 0.0f : 7.0f);
}

}  // namespace
}  // namespace regard
