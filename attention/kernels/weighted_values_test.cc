#include "attention/kernels/weighted_values.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "attention/mask.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/linear.h"
#include "autodiff/ops/reductions.h"
#include "autodiff/tape.h"
#include "autodiff/testing/gradient_check.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

constexpr int32_t kLengths[] = {0, 3, 1};

std::vector<GradientCase> Cases() {
  std::vector<GradientCase> cases;
  for (const int64_t queries : {1, 3}) {
    cases.push_back(MakeCase(
        "WeightedValues", "all keys", {{{2, 2, queries, 4}}, {{2, 2, 4, 3}}},
        [](auto&, auto in) { return WeightedValues(in[0], {}, in[1]); }));
    cases.push_back(MakeCase(
        "WeightedValues", "shared values",
        {{{2, 4, queries, 5}}, {{2, 2, 5, 2}}},
        [](auto&, auto in) { return WeightedValues(in[0], {}, in[1]); }));
  }
  cases.push_back(MakeCase(
      "MeanOfFirstRows", "ragged", {{{3, 3, 2}}},
      [](auto&, auto in) { return MeanOfFirstRows(in[0], kLengths); }));
  return cases;
}

TEST(WeightedValuesTest, Gradients) { CheckGradients(Cases()); }

TEST(WeightedValuesTest, AgreesWithMatMul) {
  for (const int64_t size : kRaggedSizes) {
    CheckAgainstReference(MakeFusedKernelCase(
        "sizes", {{{2, 2, 3, size}}, {{2, 2, size, 5}}},
        [](auto&, auto in) { return WeightedValues(in[0], {}, in[1]); },
        [](auto&, auto in) { return MatMul(in[0], in[1]); }));
  }
}

// Lengths must give the same gradients as a dense mask that hides the same
// keys. The weights are used once or twice.
TEST(WeightedValuesTest, GradientsDoNotDependOnHowAMaskIsGiven) {
  constexpr int64_t kKeys = 5;
  constexpr int64_t kQueries = 3;
  std::vector<uint8_t> dense;
  for (const int32_t length : kLengths) {
    for (int64_t i = 0; i < kQueries * kKeys; ++i) {
      dense.push_back(i % kKeys < length);
    }
  }
  const auto gradients = [&](const Mask& mask, bool twice) {
    Tape<float> tape;
    tape.Full({4096}, std::nanf(""));
    tape.Reset();  // makes the next arrays reuse this memory
    const auto numbers = [&](const Shape& shape) {
      std::vector<float> x;
      for (int64_t i = 0; i < shape.size(); ++i) {
        x.push_back(static_cast<float>(i * 7 % 11 - 5) / 8);
      }
      return tape.Input(shape, x);
    };
    const Var<float> leaf = numbers({3, 2, kQueries, kKeys});
    for (int64_t i = 0; i < leaf.size(); ++i) {
      const int64_t example = i / (2 * kQueries * kKeys);
      if (i % kKeys >= kLengths[example]) leaf.data()[i] = 0;
    }
    const Var<float> weights = leaf * 3;
    const Var<float> values = numbers({3, 1, kKeys, 4});
    Var<float> context = WeightedValues(weights, mask, values);
    if (twice) context = context * WeightedValues(weights, mask, values);
    tape.Backward(Sum(context * context));
    const float* const d = weights.grad_data();
    std::vector<float> all(d, d + weights.size());
    all.insert(all.end(), values.grad_data(),
               values.grad_data() + values.size());
    return all;
  };
  for (const bool twice : {false, true}) {
    EXPECT_EQ(gradients({.key_lengths = kLengths}, twice),
              gradients({.dense = dense}, twice));
  }
}

TEST(MeanOfLengthsTest, IsTheMeanOfValidPositions) {
  Tape<float> tape;
  const Var<float> x = tape.Input(
      {3, 2, 2}, {1, 2, 3, 4, 5, 6, std::nanf(""), 8, 9, 10, 11, 12});
  const int32_t lengths[] = {2, 1, 0};
  EXPECT_THAT(MeanOfFirstRows(x, lengths).span(),
              ElementsAre(2, 3, 5, 6, 0, 0));
  EXPECT_THAT(MeanOfFirstRows(tape.Input({0, 1, 2}, {}), {}).span(),
              ElementsAre());
  const int32_t long_lengths[] = {3, 0, 0};
  EXPECT_DEATH(MeanOfFirstRows(x, long_lengths), "3 of 2");
}

TEST(WeightedValuesTest, HeadsShareValues) {
  Tape<float> tape;
  const Var<float> weights = tape.Input({1, 4, 1, 1}, {1, 2, 3, 4});
  const Var<float> values = tape.Input({1, 2, 1, 1}, {10, 100});
  const Var<float> context = WeightedValues(weights, {}, values);
  EXPECT_THAT(context.span(), ElementsAre(10, 20, 300, 400));
  tape.Backward(Sum(context));
  EXPECT_THAT(std::vector<float>(values.grad_data(), values.grad_data() + 2),
              ElementsAre(3, 7));
}

// Query i sees keys 0 .. i. One value at a time is NaN or infinite, and must
// not affect queries that do not see it.
TEST(WeightedValuesTest, MaskedValuesReachNeitherContextsNorGradients) {
  constexpr int64_t kSize = 4;
  for (int64_t bad = 0; bad < kSize; ++bad) {
    Tape<double> tape;
    Var<double> weights =
        tape.Input({1, 1, kSize, kSize}, std::vector<double>(kSize * kSize, 0));
    Var<double> values =
        tape.Input({1, 1, kSize, 2}, std::vector<double>(kSize * 2, 1));
    for (int64_t q = 0; q < kSize; ++q) {
      for (int64_t k = 0; k <= q; ++k) {
        weights.data()[q * kSize + k] = 1.0 / static_cast<double>(q + 1);
      }
    }
    values.data()[bad * 2] = NAN;
    values.data()[bad * 2 + 1] = INFINITY;
    const Var<double> context =
        WeightedValues(weights, {.causal = true}, values);
    for (int64_t q = 0; q < kSize; ++q) {
      EXPECT_EQ(std::isnan(context.data()[q * 2]), q >= bad);
      EXPECT_EQ(std::isinf(context.data()[q * 2 + 1]), q >= bad);
    }
    tape.Backward(Sum(context));
    for (int64_t q = 0; q < kSize; ++q) {
      for (int64_t k = q + 1; k < kSize; ++k) {
        EXPECT_EQ(weights.grad_data()[q * kSize + k], 0);
      }
    }
  }
}

TEST(WeightedValuesTest, NoKeysGiveZero) {
  Tape<float> tape;
  EXPECT_THAT(WeightedValues(tape.Constant({1, 1, 2, 0}), {},
                             tape.Constant({1, 1, 0, 3}))
                  .span(),
              Each(0));
}

TEST(WeightedValuesDeathTest, RefusesShapesThatDoNotFit) {
  Tape<float> tape;
  EXPECT_DEATH(WeightedValues(tape.Full({1, 3, 2, 4}, 0), {},
                              tape.Full({1, 2, 4, 1}, 0)),
               "weights \\[1, 3, 2, 4\\]");
  EXPECT_DEATH(WeightedValues(tape.Full({1, 2, 2, 4}, 0), {},
                              tape.Full({1, 2, 3, 1}, 0)),
               "values \\[1, 2, 3, 1\\]");
}

}  // namespace
}  // namespace regard
