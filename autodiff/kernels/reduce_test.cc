#include "autodiff/kernels/reduce.h"

#include <cstdint>
#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace regard {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(ReduceTest, ByHand) {
  const std::vector<float> x = {1, -2, 4};
  const std::vector<float> y = {2, 3, 0.5};
  EXPECT_EQ(SumRow(x.data(), 3), 3);
  EXPECT_EQ(DotRow(x.data(), y.data(), 3), -2);
  EXPECT_EQ(MaxRow(x.data(), 3), 4);
}

TEST(ReduceTest, AcceptsEmptyInput) {
  EXPECT_EQ(SumRow<float>(nullptr, 0), 0);
  EXPECT_EQ(MaxRow<float>(nullptr, 0), -kInfinity);
}

TEST(ReduceTest, SumsEveryElementOnce) {
  for (const int64_t n : {1, 15, 16, 17, 33, 130}) {
    std::vector<double> x(n);
    for (int64_t i = 0; i < n; ++i) x[i] = static_cast<double>(i + 1);
    EXPECT_EQ(SumRow(x.data(), n), static_cast<double>(n * (n + 1) / 2)) << n;
  }
}

TEST(ReduceTest, FindsTheMaximumAtAnyPosition) {
  for (const int64_t n : {1, 15, 16, 17, 63, 64, 65, 80, 145}) {
    std::vector<float> x(n, -3);
    for (int64_t i = 0; i < n; ++i) {
      x[i] = -1;
      EXPECT_EQ(MaxRow(x.data(), n), -1) << i << " of " << n;
      x[i] = -3;
    }
  }
}

TEST(ReduceTest, MaximumOfInfinities) {
  const std::vector<float> hidden(70, -kInfinity);
  EXPECT_EQ(MaxRow(hidden.data(), 70), -kInfinity);
  std::vector<float> x = hidden;
  x[69] = kInfinity;
  EXPECT_EQ(MaxRow(x.data(), 70), kInfinity);
}

TEST(ReduceTest, TrailingZerosChangeNoBitOfASum) {
  std::vector<float> x(90, 0);
  for (int64_t i = 0; i < 50; ++i) x[i] = 0.1F * static_cast<float>(i % 7);
  const float sum = SumRow(x.data(), 50);
  for (const int64_t n : {51, 64, 65, 90}) EXPECT_EQ(SumRow(x.data(), n), sum);
}

// Whether SumEach() accepts a function of type F. It must reject a function for
// which GCC 12 would compute a wrong sum. The lambdas below declare their
// result types, so that the compiler does not compile their bodies to deduce a
// type.
template <typename F>
concept CanBeSummed = requires(F f, const float* x) {
  SumEach<float>(1, f, x, x);
};  // NOLINT(readability/braces)

TEST(ReduceTest, RefusesFunctionsWithConditions) {
  const auto product = [](auto x, auto y) -> decltype(x * y) { return x * y; };
  const auto choice = [](auto x, auto y) -> decltype(x > 0 ? x : y) {
    return x > 0 ? x : y;
  };
  const auto max_if_positive = [](float x, float y) { return x > 0 ? x : y; };
  const auto truth = [](auto x, auto y) -> decltype(x ? x : y) {
    return x ? x : y;
  };
  static_assert(CanBeSummed<decltype(product)>);
  static_assert(!CanBeSummed<decltype(choice)>);
  static_assert(!CanBeSummed<decltype(max_if_positive)>);
  static_assert(!CanBeSummed<decltype(truth)>);
}

}  // namespace
}  // namespace regard
