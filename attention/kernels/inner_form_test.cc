#include "attention/kernels/inner_form.h"

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "attention/kernels/distance_bias.h"
#include "attention/kernels/masked_softmax.h"
#include "attention/kernels/scaled_dot_attention.h"
#include "attention/kernels/weighted_values.h"
#include "attention/mask.h"
#include "attention/positions.h"
#include "autodiff/tape.h"
#include "autodiff/testing/gradient_check.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::ElementsAre;

// Queries begin at position 2.
constexpr Positions kPositions = {.first_query = 2};

// The tested sets of biases: no bias, each of the three biases, and all three.
constexpr int kNone = 0, kQuery = 1, kKey = 2, kDistance = 4;
constexpr int kBiases[] = {kNone, kQuery, kKey, kDistance, 7};

// `in` contains a, b, and the biases of queries, keys and distances.
template <typename T>
InnerForm<T> Form(absl::Span<const Var<T>> in, int biases,
                  const Positions& positions = kPositions) {
  InnerForm<T> form = {in[0], in[1], T(0.75)};
  if (biases & kQuery) form.query_bias = in[2];
  if (biases & kKey) form.key_bias = in[3];
  if (biases & kDistance) {
    form.distance_bias = {
        in[4], DistanceRange::Of(positions, in[0].dim(2), in[1].dim(2)).lowest};
  }
  return form;
}

std::vector<TestInputSpec> Inputs(int64_t heads, int64_t key_heads,
                                  int64_t queries, int64_t keys) {
  return {{{2, heads, queries, 3}},
          {{2, key_heads, keys, 3}},
          {{2, heads, queries, 1}},
          {{2, key_heads, keys, 1}},
          {{heads, queries + keys - 1}}};
}

TEST(InnerFormTest, ScoresByHand) {
  Tape<double> tape;
  // The inner products a . b are 4 and 10 for query 0, and 6 and 14 for query
  // 1. They are multiplied by 0.5.
  InnerForm<double> form = {tape.Input({1, 1, 2, 2}, {1, 2, 2, 2}),
                            tape.Input({1, 1, 2, 2}, {2, 1, 4, 3}), 0.5};
  const auto scores = [&] { return DenseScores(form, {}); };
  EXPECT_THAT(scores().span(), ElementsAre(2, 5, 3, 7));
  form.query_bias = tape.Input({1, 1, 2, 1}, {100, 200});
  EXPECT_THAT(scores().span(), ElementsAre(102, 105, 203, 207));
  form.key_bias = tape.Input({1, 1, 2, 1}, {1000, 2000});
  EXPECT_THAT(scores().span(), ElementsAre(1102, 2105, 1203, 2207));
  form.query_bias = {};
  EXPECT_THAT(scores().span(), ElementsAre(1002, 2005, 1003, 2007));
  form.key_bias = {};
  // The distances are -1, 0 and 1.
  form.distance_bias = {tape.Input({1, 3}, {0.25, 0.5, 0.125}), -1};
  EXPECT_THAT(scores().span(), ElementsAre(2.5, 5.125, 3.25, 7.5));
}

TEST(InnerFormTest, GradientsOfDenseScores) {
  std::vector<GradientCase> cases;
  for (const int biases : kBiases) {
    for (const int64_t key_heads : {1, 2}) {
      cases.push_back(MakeCase("DenseScores", "biases",
                               Inputs(2, key_heads, 3, 4), [=](auto&, auto in) {
                                 return DenseScores(Form(in, biases),
                                                    kPositions);
                               }));
    }
  }
  CheckGradients(cases);
}

// Makes the bias of queries constant. Its gradient is 0 up to rounding, and the
// rounding differs between blocked and dense scores.
template <typename T>
InnerForm<T> ComparableForm(absl::Span<const Var<T>> in, int biases) {
  InnerForm<T> form = Form(in, biases);
  if (form.query_bias.has_value()) {
    form.query_bias = in[2].tape().Constant(in[2].shape(), in[2].span());
  }
  return form;
}

// The blocked kernel must agree with the dense scores, also if the numbers of
// query heads, key heads and value heads differ.
TEST(InnerFormTest, BlocksAgreeWithDenseScores) {
  const std::pair<int64_t, int64_t> sizes[] = {{0, 3}, {1, 1}, {3, 0},
                                               {1, 5}, {7, 3}, {130, 259}};
  for (const auto& [queries, keys] : sizes) {
    for (const int biases : kBiases) {
      for (const auto& [key_heads, value_heads] :
           {std::pair(4, 4), {4, 2}, {2, 4}, {1, 2}}) {
        if (queries * keys == 0 && (biases & kDistance) != 0) continue;
        std::vector<TestInputSpec> inputs = Inputs(4, key_heads, queries, keys);
        inputs.push_back({{2, value_heads, keys, 2}});
        const Mask mask = {.causal = true};
        CheckAgainstReference(MakeFusedKernelCase(
            "blocks", inputs,
            [=](auto&, auto in) {
              return ScaledDotAttention(ComparableForm(in, biases), in[5], mask,
                                        kPositions);
            },
            [=](auto&, auto in) {
              const auto scores =
                  DenseScores(ComparableForm(in, biases), kPositions);
              return WeightedValues(MaskedSoftmax(scores, mask, kPositions),
                                    mask, in[5], kPositions);
            }));
      }
    }
  }
}

TEST(InnerFormTest, BlocksHaveGradientsOfBiases) {
  std::vector<GradientCase> cases;
  for (const int biases : kBiases) {
    std::vector<TestInputSpec> inputs = Inputs(2, 1, 3, 4);
    inputs.push_back({{2, 2, 4, 3}});
    cases.push_back(
        MakeCase("ScaledDotAttention", "biases", inputs, [=](auto&, auto in) {
          return ScaledDotAttention(Form(in, biases), in[5], {.window = 3},
                                    kPositions);
        }));
  }
  CheckGradients(cases);
}

// The bias of a masked key may be NaN, and must have no effect.
TEST(InnerFormTest, AMaskedBiasReachesNothing) {
  Tape<float> tape;
  const std::vector<int32_t> lengths = {1};
  InnerForm<float> form = {tape.Input({1, 1, 1, 1}, {1}),
                           tape.Input({1, 1, 2, 1}, {1, 2})};
  form.key_bias =
      tape.Input({1, 1, 2, 1}, {3, std::numeric_limits<float>::quiet_NaN()});
  const Var<float> context = ScaledDotAttention(
      form, tape.Input({1, 1, 2, 1}, {5, 7}), {.key_lengths = lengths});
  EXPECT_THAT(context.span(), ElementsAre(5));
}

}  // namespace
}  // namespace regard
