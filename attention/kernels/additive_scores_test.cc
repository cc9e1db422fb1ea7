#include "attention/kernels/additive_scores.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "attention/kernels/masked_softmax.h"
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

using ::testing::DoubleNear;
using ::testing::ElementsAre;

// queries [B, H, Q, j], keys [B, H, K, j], vector [H, j].
std::vector<TestInputSpec> Inputs(int64_t queries, int64_t keys,
                                  int64_t width) {
  return {{{2, 2, queries, width}}, {{2, 2, keys, width}}, {{2, width}}};
}

// Adds features [B, H, Q, K, n] and their weight [H, j, n].
std::vector<TestInputSpec> InputsWithTerm(int64_t queries, int64_t keys,
                                          int64_t width, int64_t features) {
  std::vector<TestInputSpec> inputs = Inputs(queries, keys, width);
  inputs.push_back({{2, 2, queries, keys, features}});
  inputs.push_back({{2, width, features}});
  return inputs;
}

template <typename T>
Var<T> ReferenceWithTerm(Var<T> q, Var<T> k, Var<T> v, Var<T> x, Var<T> w) {
  const Shape pairs = {q.dim(0), q.dim(1), q.dim(2), k.dim(2), q.dim(3)};
  const Var<T> rows =
      x.Reshape({q.dim(0), q.dim(1), q.dim(2) * k.dim(2), w.dim(2)});
  const Var<T> sum = q.Reshape({q.dim(0), q.dim(1), q.dim(2), 1, q.dim(3)}) +
                     k.Reshape({k.dim(0), k.dim(1), 1, k.dim(2), k.dim(3)}) +
                     MatMul(rows, w, {.b = true}).Reshape(pairs);
  return Sum(Tanh(sum) * v.Reshape({v.dim(0), 1, 1, v.dim(1)}), -1);
}

template <typename T>
Var<T> Reference(Var<T> q, Var<T> k, Var<T> v) {
  const Var<T> sum = q.Reshape({q.dim(0), q.dim(1), q.dim(2), 1, q.dim(3)}) +
                     k.Reshape({k.dim(0), k.dim(1), 1, k.dim(2), k.dim(3)});
  return Sum(Tanh(sum) * v.Reshape({v.dim(0), 1, 1, v.dim(1)}), -1);
}

std::vector<GradientCase> Cases() {
  static constexpr int32_t kLengths[] = {4, 2};
  static constexpr int32_t kPerQuery[] = {4, 2, 0, 1, 3, 4};
  std::vector<GradientCase> cases;
  for (const Mask& mask : std::vector<Mask>{{},
                                            {.key_lengths = kLengths},
                                            {.key_lengths = kPerQuery},
                                            {.causal = true},
                                            {.window = 1}}) {
    cases.push_back(MakeCase("AdditiveScores", "a mask", Inputs(3, 4, 5),
                             [=](auto&, auto in) {
                               return AdditiveScores(in[0], in[1], in[2], mask);
                             }));
  }
  for (const Mask& mask :
       std::vector<Mask>{{}, {.key_lengths = kPerQuery}, {.window = 2}}) {
    cases.push_back(MakeCase(
        "AdditiveScores", "a term of pairs", InputsWithTerm(3, 4, 5, 2),
        [=](auto&, auto in) {
          return AdditiveScores(in[0], in[1], in[2], mask, {}, {in[3], in[4]});
        }));
  }
  cases.push_back(MakeCase(
      "AdditiveScores", "a term without keys", InputsWithTerm(3, 0, 5, 2),
      [](auto&, auto in) {
        return AdditiveScores(in[0], in[1], in[2], {}, {}, {in[3], in[4]});
      }));
  cases.push_back(MakeCase(
      "AdditiveScores", "no keys", Inputs(3, 0, 5),
      [](auto&, auto in) { return AdditiveScores(in[0], in[1], in[2], {}); }));
  return cases;
}

TEST(AdditiveScoresTest, Gradients) { CheckGradients(Cases()); }

TEST(AdditiveScoresTest, AgreesWithItsComposition) {
  const auto fused = [](auto&, auto in) {
    return AdditiveScores(in[0], in[1], in[2], {});
  };
  const auto reference = [](auto&, auto in) {
    return Reference(in[0], in[1], in[2]);
  };
  for (const int64_t size : kRaggedSizes) {
    CheckAgainstReference(
        MakeFusedKernelCase("queries", Inputs(size, 3, 4), fused, reference));
    CheckAgainstReference(
        MakeFusedKernelCase("keys", Inputs(3, size, 4), fused, reference));
    CheckAgainstReference(
        MakeFusedKernelCase("width", Inputs(3, 4, size), fused, reference));
  }
}

TEST(AdditiveScoresTest, AgreesWithItsCompositionWithATerm) {
  const auto fused = [](auto&, auto in) {
    return AdditiveScores(in[0], in[1], in[2], {}, {}, {in[3], in[4]});
  };
  const auto reference = [](auto&, auto in) {
    return ReferenceWithTerm(in[0], in[1], in[2], in[3], in[4]);
  };
  for (const int64_t size : kRaggedSizes) {
    CheckAgainstReference(MakeFusedKernelCase(
        "keys", InputsWithTerm(2, size, 4, 3), fused, reference));
    CheckAgainstReference(MakeFusedKernelCase(
        "width", InputsWithTerm(2, 3, size, 3), fused, reference));
    CheckAgainstReference(MakeFusedKernelCase(
        "features", InputsWithTerm(2, 3, 4, size), fused, reference));
  }
}

// The kernel skips masked pairs. This must have no effect on a softmax that
// uses the same mask as the kernel.
TEST(AdditiveScoresTest, AgreesWithItsCompositionBehindAMaskedSoftmax) {
  static constexpr int32_t kLengths[] = {3, 1};
  const Positions positions = {.first_query = 1};
  for (const Mask& mask : std::vector<Mask>{
           {.key_lengths = kLengths}, {.causal = true}, {.window = 2}}) {
    CheckAgainstReference(MakeFusedKernelCase(
        "a mask", Inputs(3, 4, 5),
        [=](auto&, auto in) {
          return MaskedSoftmax(
              AdditiveScores(in[0], in[1], in[2], mask, positions), mask,
              positions);
        },
        [=](auto&, auto in) {
          return MaskedSoftmax(Reference(in[0], in[1], in[2]), mask, positions);
        }));
  }
}

// The expected scores are 2 tanh(2) - tanh(0) and 2 tanh(0) - tanh(0).
TEST(AdditiveScoresTest, IsASumOfHyperbolicTangents) {
  Tape<double> tape;
  const Var<double> scores =
      AdditiveScores(tape.Input({1, 1, 1, 2}, {1, 0.5}),
                     tape.Input({1, 1, 2, 2}, {1, -0.5, -1, -0.5}),
                     tape.Input({1, 2}, {2, -1}), {});
  EXPECT_THAT(scores.span(),
              ElementsAre(DoubleNear(2 * std::tanh(2.0), 1e-14), 0));
}

TEST(AdditiveScoresTest, MaskedKeysAreNotCompared) {
  Tape<float> tape;
  const std::vector<int32_t> lengths = {1};
  const Var<float> q = tape.Input({1, 1, 1, 1}, {1});
  const Var<float> k = tape.Input({1, 1, 2, 1}, {1, NAN});
  const Var<float> v = tape.Input({1, 1}, {1});
  const Var<float> scores = AdditiveScores(q, k, v, {.key_lengths = lengths});
  EXPECT_EQ(scores.data()[1], 0);
  tape.Backward(Sum(scores));
  EXPECT_NE(k.grad_data()[0], 0);
  EXPECT_EQ(k.grad_data()[1], 0);
}

TEST(AdditiveScoresDeathTest, NeedsOneWidth) {
  Tape<float> tape;
  const Var<float> q = tape.Full({1, 2, 3, 4}, 0);
  EXPECT_DEATH(
      AdditiveScores(q, tape.Full({1, 2, 3, 5}, 0), tape.Full({2, 4}, 0), {}),
      "keys \\[1, 2, 3, 5\\]");
  EXPECT_DEATH(AdditiveScores(q, q, tape.Full({4}, 0), {}), "vector \\[4\\]");
}

TEST(AdditiveScoresDeathTest, NeedsATermOfThePairs) {
  Tape<float> tape;
  const Var<float> q = tape.Full({1, 2, 3, 4}, 0);
  const Var<float> v = tape.Full({2, 4}, 0);
  EXPECT_DEATH(
      AdditiveScores(q, q, v, {}, {},
                     {tape.Full({1, 2, 9, 5}, 0), tape.Full({2, 4, 6}, 0)}),
      "features \\[1, 2, 9, 5\\] and weight \\[2, 4, 6\\]");
}

}  // namespace
}  // namespace regard
