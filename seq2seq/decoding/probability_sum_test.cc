#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "seq2seq/decoding/continuations.h"

namespace regard {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

TEST(AddProbabilitiesTest, MatchesHandComputedValues) {
  std::vector<float> sum = {std::log(0.25F), std::log(0.5F), -kInf, -kInf,
                            -200};
  AddProbabilities({std::log(0.5F), -kInf, std::log(0.5F), -kInf, -200},
                   absl::MakeSpan(sum));
  EXPECT_NEAR(sum[0], std::log(0.75), 1e-6);
  EXPECT_EQ(sum[1], std::log(0.5F));
  EXPECT_EQ(sum[2], std::log(0.5F));
  EXPECT_EQ(sum[3], -kInf);
  // exp(-200) is 0 in float.
  EXPECT_NEAR(sum[4], -200 + std::log(2.0), 1e-4);
}

TEST(AddProbabilitiesTest, AcceptsAnySize) {
  for (const size_t size : {0, 1, 1023, 1024, 1025, 3000}) {
    std::vector<float> x(size);
    std::vector<float> sum(size);
    for (size_t i = 0; i < size; ++i) {
      x[i] = -0.01F * static_cast<float>(i);
      sum[i] = -3;
    }
    AddProbabilities(x, absl::MakeSpan(sum));
    for (size_t i = 0; i < size; ++i) {
      EXPECT_NEAR(sum[i],
                  std::log(std::exp(static_cast<double>(x[i])) + std::exp(-3)),
                  1e-5);
    }
  }
}

}  // namespace
}  // namespace regard
