#include "nn/initializers.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "autodiff/random.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

std::vector<double> Draw(const Initializer& initializer, int64_t count) {
  const RandomStream stream(3, "init/test");
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(initializer(stream, i));
  return values;
}

double MeanSquare(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return sum / static_cast<double>(values.size());
}

// Checks that 10,000 draws look uniform. The largest draw must be within 0.2 %
// of the bound.
void ExpectUniform(const Initializer& initializer, double bound) {
  const std::vector<double> values = Draw(initializer, 10000);
  const auto [least, greatest] =
      std::minmax_element(values.begin(), values.end());
  EXPECT_LE(*greatest, bound);
  EXPECT_GE(*greatest, 0.998 * bound);
  EXPECT_GE(*least, -bound);
  EXPECT_LE(*least, -0.998 * bound);
  EXPECT_NEAR(MeanSquare(values), bound * bound / 3, 0.02 * bound * bound);
}

TEST(InitializersTest, UniformFillsItsRange) { ExpectUniform(Uniform(2), 2); }

TEST(InitializersTest, XavierCountsStackedGatesAsOneMatrix) {
  // A GRU of width 4 with 12 inputs has the bound sqrt(6 / (3 * 4 + 12)) = 0.5.
  ExpectUniform(XavierUniform(12, 12), 0.5);
}

TEST(InitializersTest, PyTorchDefaultsHaveTheirBounds) {
  ExpectUniform(LinearDefault(16), 0.25);
  ExpectUniform(RecurrentDefault(64), 0.125);
  EXPECT_NEAR(MeanSquare(Draw(EmbeddingDefault(), 10000)), 1, 0.05);
}

TEST(InitializersTest, NormalHasItsStandardDeviation) {
  EXPECT_NEAR(std::sqrt(MeanSquare(Draw(Normal(0.01), 10000))), 0.01, 3e-4);
}

// Truncation at two standard deviations multiplies the variance of a normal
// distribution by 0.7737.
TEST(InitializersTest, TruncatedNormalStaysWithinTwoDeviations) {
  const std::vector<double> values = Draw(TruncatedNormal(0.1), 10000);
  const auto [least, greatest] =
      std::minmax_element(values.begin(), values.end());
  EXPECT_LE(*greatest, 0.2);
  EXPECT_GT(*greatest, 0.19);
  EXPECT_GE(*least, -0.2);
  EXPECT_LT(*least, -0.19);
  EXPECT_NEAR(MeanSquare(values), 0.007737, 3e-4);
}

TEST(InitializersTest, ConstantsAreConstant) {
  EXPECT_EQ(Draw(Zeros(), 2), std::vector<double>({0, 0}));
  EXPECT_EQ(Draw(Constant(1.5), 2), std::vector<double>({1.5, 1.5}));
}

}  // namespace
}  // namespace regard
