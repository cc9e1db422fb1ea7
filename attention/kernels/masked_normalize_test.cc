#include "attention/kernels/masked_normalize.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "attention/kernels/masked_softmax.h"
#include "attention/normalizers/built_in_normalizers.h"
#include "attention/normalizers/normalizer.pb.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/reductions.h"
#include "autodiff/tape.h"
#include "autodiff/testing/gradient_check.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::FloatEq;

constexpr const char* kNormalizers[] = {"softmax {}", "sparsemax {}",
                                        "entmax15 {}", "sigmoid {}",
                                        "sigmoid { bias: -1 }"};

// Lives as long as the test program.
template <typename T>
const Normalizer<T>& Get(const std::string& text) {
  static auto* const made =
      new std::map<std::string, std::unique_ptr<Normalizer<T>>>();
  std::unique_ptr<Normalizer<T>>& normalizer = (*made)[text];
  if (normalizer == nullptr) {
    NormalizerRegistry registry;
    RegisterBuiltInNormalizers(registry);
    NormalizerConfig config;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config));
    normalizer = registry.Create<T>(config);
  }
  return *normalizer;
}

// For 2 examples of 2 heads, 3 queries and 5 keys.
const Shape kShape({2, 2, 3, 5});
const Positions kPositions = {.first_query = 1};
// Distances -3 .. 3.
const Shape kBiasShape({2, 7});

std::vector<Mask> Masks() {
  static constexpr int32_t kPerQuery[] = {1, 5, 3, 0, 2, 4};
  static constexpr uint8_t kDense[] = {1, 0, 1, 0, 1, 0, 0, 0, 0, 1,
                                       1, 1, 1, 1, 1, 0, 1, 0, 0, 0,
                                       1, 1, 0, 0, 0, 0, 0, 0, 0, 0};
  return {{},
          {.key_lengths = kPerQuery},
          {.causal = true},
          {.window = 2},
          {.key_lengths = kPerQuery, .dense = kDense}};
}

std::vector<GradientCase> Cases() {
  std::vector<GradientCase> cases;
  for (const std::string normalizer : kNormalizers) {
    for (const Mask& mask : Masks()) {
      cases.push_back(MakeCase(
          "MaskedNormalize", normalizer, {{kShape, -2, 2}},
          [=]<typename T>(Tape<T>&, absl::Span<const Var<T>> in) {
            return MaskedNormalize(in[0], Get<T>(normalizer), mask, kPositions);
          }));
    }
    cases.push_back(
        MakeCase("MaskedNormalize", normalizer + " and a sink",
                 {{kShape, -2, 2}, {{2}, -2, 2}, {kBiasShape}},
                 [=]<typename T>(Tape<T>&, absl::Span<const Var<T>> in) {
                   return MaskedNormalize(in[0], Get<T>(normalizer), Masks()[1],
                                          kPositions, {in[2], -3}, in[1]);
                 }));
    cases.push_back(MakeCase(
        "MaskedNormalize", normalizer + " and a bias",
        {{kShape, -2, 2}, {kBiasShape}},
        [=]<typename T>(Tape<T>&, absl::Span<const Var<T>> in) {
          return MaskedNormalize(in[0], Get<T>(normalizer), {.causal = true},
                                 kPositions, DistanceBias<T>{in[1], -3});
        }));
  }
  return cases;
}

TEST(MaskedNormalizeTest, Gradients) { CheckGradients(Cases()); }

// The bias of head h, query q and key k is at distance k - (1 + q).
TEST(MaskedNormalizeTest, SoftmaxAndItsKernelsAgreeUnderEveryMask) {
  for (const Mask& mask : Masks()) {
    CheckAgainstReference(MakeReferenceCase(
        "without a bias", {{kShape, -3, 3}},
        [=](auto&, auto in) { return MaskedSoftmax(in[0], mask, kPositions); },
        [=]<typename T>(Tape<T>&, absl::Span<const Var<T>> in) {
          return MaskedNormalize(in[0], Get<T>("softmax {}"), mask, kPositions);
        }));
    CheckAgainstReference(MakeReferenceCase(
        "with a bias", {{kShape, -3, 3}, {kBiasShape}},
        [=]<typename T>(Tape<T>&, absl::Span<const Var<T>> in) {
          return MaskedSoftmax(in[0], mask, kPositions,
                               DistanceBias<T>{in[1], -3});
        },
        [=]<typename T>(Tape<T>&, absl::Span<const Var<T>> in) {
          return MaskedNormalize(in[0], Get<T>("softmax {}"), mask, kPositions,
                                 DistanceBias<T>{in[1], -3});
        }));
  }
}

TEST(MaskedNormalizeTest, ABiasIsThatOfItsDistance) {
  Tape<double> tape;
  const Var<double> scores = tape.Full(kShape, 0);
  const Var<double> bias =
      tape.Input(kBiasShape, {0, 1, 2, 3, 4, 5, 6, 0, 10, 20, 30, 40, 50, 60});
  const Var<double> weights =
      MaskedNormalize(scores, Get<double>("sigmoid { bias: 0 }"), {},
                      kPositions, DistanceBias<double>{bias, -3});
  // Example 1, head 1, query 0 at position 1, key 3: distance 2.
  EXPECT_DOUBLE_EQ(weights.data()[(3 * 3 + 0) * 5 + 3],
                   1 / (1 + std::exp(-50.0)));
  // Example 0, head 0, query 2 at position 3, key 0: distance -3.
  EXPECT_DOUBLE_EQ(weights.data()[2 * 5], 0.5);
}

TEST(MaskedNormalizeTest, HiddenScoresAreNotReadAndWeighNothing) {
  for (const char* normalizer : kNormalizers) {
    for (const Mask& mask : Masks()) {
      Tape<float> tape;
      Var<float> scores = tape.Input(kShape, std::vector<float>(60, 0.5f));
      const MaskReader visible(mask, kPositions, 2, 3, 5);
      const auto sees = [&](int64_t i) {
        return visible(i / 30, i / 5 % 3)(i % 5);
      };
      for (int64_t i = 0; i < scores.size(); ++i) {
        if (!sees(i)) scores.data()[i] = NAN;
      }
      const Var<float> weights =
          MaskedNormalize(scores, Get<float>(normalizer), mask, kPositions);
      tape.Backward(Sum(weights * weights));
      for (int64_t i = 0; i < scores.size(); ++i) {
        EXPECT_EQ(weights.data()[i] > 0, sees(i)) << normalizer << ", " << i;
        EXPECT_TRUE(std::isfinite(scores.grad_data()[i])) << normalizer;
        if (!sees(i)) {
          EXPECT_EQ(scores.grad_data()[i], 0);
        }
      }
    }
  }
}

TEST(MaskedNormalizeTest, ScoresOfMinusInfinityAreHiddenToo) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const char* normalizer : kNormalizers) {
    Tape<float> tape;
    const Var<float> some = tape.Input({1, 1, 1, 3}, {1, -kInfinity, 1});
    const Var<float> both = tape.Input({1, 1, 1, 2}, {1, 1});
    const Var<float> got = MaskedNormalize(some, Get<float>(normalizer), {});
    const Var<float> want = MaskedNormalize(both, Get<float>(normalizer), {});
    EXPECT_THAT(got.span(), ElementsAre(FloatEq(want.data()[0]), 0,
                                        FloatEq(want.data()[1])))
        << normalizer;
    const Var<float> none = tape.Input({1, 1, 1, 2}, {-kInfinity, -kInfinity});
    const Var<float> nothing =
        MaskedNormalize(none, Get<float>(normalizer), {});
    EXPECT_THAT(nothing.span(), Each(0)) << normalizer;
    tape.Backward(Sum(nothing) + Sum(got));
    EXPECT_THAT(std::vector<float>(none.grad_data(), none.grad_data() + 2),
                Each(0))
        << normalizer;
  }
}

// Sigmoid's bias counts the keys that are seen, not the padded row.
TEST(MaskedNormalizeTest, PaddingChangesNoBit) {
  for (const char* normalizer : kNormalizers) {
    Tape<float> tape;
    const Var<float> exact = tape.Input({1, 1, 1, 3}, {0.25f, 1, -0.5f});
    const Var<float> padded =
        tape.Input({1, 1, 1, 5}, {0.25f, 1, -0.5f, NAN, 7});
    const std::vector<int32_t> lengths = {3};
    EXPECT_EQ(MaskedNormalize(padded, Get<float>(normalizer),
                              {.key_lengths = lengths})
                  .span()
                  .subspan(0, 3),
              MaskedNormalize(exact, Get<float>(normalizer), {}).span())
        << normalizer;
  }
}

TEST(MaskedNormalizeDeathTest, RefusesShapesThatDoNotFit) {
  Tape<float> tape;
  EXPECT_DEATH(
      MaskedNormalize(tape.Full({2, 3, 4}, 0), Get<float>("softmax {}"), {}),
      "\\[2, 3, 4\\]");
  EXPECT_DEATH(
      MaskedNormalize(tape.Full({1, 2, 3, 4}, 0), Get<float>("softmax {}"), {},
                      {}, DistanceBias<float>{tape.Full({2, 5}, 0), -2}),
      "a bias \\[2, 5\\]");
}

}  // namespace
}  // namespace regard
