#include "attention/kernels/masked_normalize.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "attention/kernels/masked_softmax.h"
#include "attention/normalizers/built_in_normalizers.h"
#include "attention/normalizers/normalizer.pb.h"
#include "attention/scoring_function.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/reductions.h"
#include "autodiff/tape.h"
#include "autodiff/testing/gradient_check.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "nn/parameters.h"

namespace regard {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::FloatEq;

constexpr const char* kNormalizers[] = {"softmax {}",
                                        "sparsemax {}",
                                        "entmax15 {}",
                                        "sigmoid {}",
                                        "sigmoid { bias: -1 }",
                                        "scalable_softmax {}",
                                        "scalable_softmax { bias: 0.5 }",
                                        "log_length { trained_length: 2 }",
                                        "relu_squared {}"};

// 2 examples, 2 heads, 3 queries and 5 keys.
const Shape kShape({2, 2, 3, 5});
const Positions kPositions = {.first_query = 1};
// [heads, distances], for the distances -3 .. 3.
const Shape kBiasShape({2, 7});

// A normalizer for two heads, and its parameters.
template <typename T>
struct Made {
  ParameterStore<T> store;
  std::unique_ptr<Normalizer<T>> rule;

  int64_t count() const {
    return static_cast<int64_t>(store.parameters().size());
  }
};

// The result lives as long as the test program.
template <typename T>
const Made<T>& Get(const std::string& text) {
  static auto* const all =
      new std::map<std::string, std::unique_ptr<Made<T>>>();
  std::unique_ptr<Made<T>>& made = (*all)[text];
  if (made == nullptr) {
    made = std::make_unique<Made<T>>();
    NormalizerRegistry registry;
    RegisterBuiltInNormalizers(registry);
    NormalizerConfig config;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config));
    made->rule =
        registry.Create<T>(config, made->store.Root(), ScoreWidths{.heads = 2});
    made->store.Finalize(/*seed=*/1);
  }
  return *made;
}

// The weights of `scores`. If `terms` has no parameters, all parameters are
// 0.5.
template <typename T>
Var<T> Normalized(const std::string& normalizer, Var<T> scores,
                  const Mask& mask, HeadNormalizerInputs<T> terms = {},
                  const Positions& positions = kPositions) {
  const Made<T>& made = Get<T>(normalizer);
  if (!terms.parameters.has_value() && made.count() > 0) {
    terms.parameters =
        scores.tape().Full({scores.dim(1), made.count()}, T(0.5));
  }
  return MaskedNormalize(scores, *made.rule, mask, positions, terms);
}

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
      cases.push_back(
          MakeCase("MaskedNormalize", normalizer, {{kShape, -2, 2}},
                   [=]<typename T>(Tape<T>&, absl::Span<const Var<T>> in) {
                     return Normalized(normalizer, in[0], mask);
                   }));
    }
    cases.push_back(
        MakeCase("MaskedNormalize", normalizer + " and a sink",
                 {{kShape, -2, 2}, {{2}, -2, 2}, {kBiasShape}},
                 [=]<typename T>(Tape<T>&, absl::Span<const Var<T>> in) {
                   return Normalized<T>(normalizer, in[0], Masks()[1],
                                        {.bias = {in[2], -3}, .sink = in[1]});
                 }));
    cases.push_back(
        MakeCase("MaskedNormalize", normalizer + " and a bias",
                 {{kShape, -2, 2}, {kBiasShape}},
                 [=]<typename T>(Tape<T>&, absl::Span<const Var<T>> in) {
                   return Normalized<T>(normalizer, in[0], {.causal = true},
                                        {.bias = {in[1], -3}});
                 }));
    const int64_t count = Get<double>(normalizer).count();
    if (count == 0) continue;
    for (const Mask& mask : Masks()) {
      cases.push_back(
          MakeCase("MaskedNormalize", normalizer + " and its parameters",
                   {{kShape, -2, 2}, {{2, count}, -2, 2}, {{2}, -2, 2}},
                   [=]<typename T>(Tape<T>&, absl::Span<const Var<T>> in) {
                     return Normalized<T>(normalizer, in[0], mask,
                                          {.sink = in[2], .parameters = in[1]});
                   }));
    }
  }
  return cases;
}

TEST(MaskedNormalizeTest, Gradients) { CheckGradients(Cases()); }

// Query q is at position q + 1, so the lowest distance of a key is -3.
TEST(MaskedNormalizeTest, SoftmaxAndItsKernelsAgreeUnderEveryMask) {
  for (const Mask& mask : Masks()) {
    CheckAgainstReference(MakeFusedKernelCase(
        "without a bias", {{kShape, -3, 3}},
        [=](auto&, auto in) { return MaskedSoftmax(in[0], mask, kPositions); },
        [=]<typename T>(Tape<T>&, absl::Span<const Var<T>> in) {
          return Normalized("softmax {}", in[0], mask);
        }));
    CheckAgainstReference(MakeFusedKernelCase(
        "with a bias", {{kShape, -3, 3}, {kBiasShape}},
        [=]<typename T>(Tape<T>&, absl::Span<const Var<T>> in) {
          return MaskedSoftmax(in[0], mask, kPositions,
                               DistanceBias<T>{in[1], -3});
        },
        [=]<typename T>(Tape<T>&, absl::Span<const Var<T>> in) {
          return Normalized<T>("softmax {}", in[0], mask,
                               {.bias = {in[1], -3}});
        }));
  }
}

TEST(MaskedNormalizeTest, ABiasBelongsToItsDistance) {
  Tape<double> tape;
  const Var<double> scores = tape.Full(kShape, 0);
  const Var<double> bias =
      tape.Input(kBiasShape, {0, 1, 2, 3, 4, 5, 6, 0, 10, 20, 30, 40, 50, 60});
  const Var<double> weights = Normalized<double>("sigmoid { bias: 0 }", scores,
                                                 {}, {.bias = {bias, -3}});
  // Example 1, head 1, query 0 and key 3 have distance 3 - 1 = 2 and bias 50.
  EXPECT_DOUBLE_EQ(weights.data()[(3 * 3 + 0) * 5 + 3],
                   1 / (1 + std::exp(-50.0)));
  // Example 0, head 0, query 2 and key 0 have distance 0 - 3 = -3 and bias 0.
  EXPECT_DOUBLE_EQ(weights.data()[2 * 5], 0.5);
}

TEST(MaskedNormalizeTest, MaskedScoresAreNotReadAndHaveWeightZero) {
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
      const Var<float> weights = Normalized(normalizer, scores, mask);
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

TEST(MaskedNormalizeTest, ScoresOfMinusInfinityAreAlsoMasked) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const char* normalizer : kNormalizers) {
    Tape<float> tape;
    const Var<float> some = tape.Input({1, 1, 1, 3}, {1, -kInfinity, 1});
    const Var<float> both = tape.Input({1, 1, 1, 2}, {1, 1});
    const Var<float> got = Normalized<float>(normalizer, some, {});
    const Var<float> want = Normalized<float>(normalizer, both, {});
    EXPECT_THAT(got.span(), ElementsAre(FloatEq(want.data()[0]), 0,
                                        FloatEq(want.data()[1])))
        << normalizer;
    const Var<float> none = tape.Input({1, 1, 1, 2}, {-kInfinity, -kInfinity});
    const Var<float> nothing = Normalized<float>(normalizer, none, {});
    EXPECT_THAT(nothing.span(), Each(0)) << normalizer;
    tape.Backward(Sum(nothing) + Sum(got));
    EXPECT_THAT(std::vector<float>(none.grad_data(), none.grad_data() + 2),
                Each(0))
        << normalizer;
  }
}

// Normalizers that use the number of keys, such as sigmoid, must not count
// padding.
TEST(MaskedNormalizeTest, PaddingChangesNoBit) {
  for (const char* normalizer : kNormalizers) {
    Tape<float> tape;
    const Var<float> exact = tape.Input({1, 1, 1, 3}, {0.25f, 1, -0.5f});
    const Var<float> padded =
        tape.Input({1, 1, 1, 5}, {0.25f, 1, -0.5f, NAN, 7});
    const std::vector<int32_t> lengths = {3};
    EXPECT_EQ(Normalized<float>(normalizer, padded, {.key_lengths = lengths})
                  .span()
                  .subspan(0, 3),
              Normalized<float>(normalizer, exact, {}).span())
        << normalizer;
  }
}

TEST(MaskedNormalizeDeathTest, RefusesShapesThatDoNotFit) {
  Tape<float> tape;
  EXPECT_DEATH(Normalized<float>("softmax {}", tape.Full({2, 3, 4}, 0), {}),
               "\\[2, 3, 4\\]");
  EXPECT_DEATH(Normalized<float>("softmax {}", tape.Full({1, 2, 3, 4}, 0), {},
                                 {.bias = {tape.Full({2, 5}, 0), -2}}, {}),
               "a bias \\[2, 5\\]");
  EXPECT_DEATH(
      Normalized<float>("scalable_softmax {}", tape.Full({1, 2, 3, 4}, 0), {},
                        {.parameters = tape.Full({3, 1}, 0)}, {}),
      "parameters \\[3, 1\\]");
}

}  // namespace
}  // namespace regard
