#include "attention/gaussian_scores.h"

#include <cstdint>
#include <vector>

#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/reductions.h"
#include "autodiff/tape.h"
#include "autodiff/testing/gradient_check.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::ElementsAre;

// queries [B, H, Q, 1], keys [B, H, K, 1], one scale per head.
std::vector<CheckedInput> Inputs(int64_t queries, int64_t keys) {
  return {{{2, 3, queries, 1}}, {{2, 3, keys, 1}}, {{3, 1}}};
}

template <typename T>
Var<T> Reference(Var<T> q, Var<T> k, Var<T> scale) {
  const Var<T> u = (q.WithShape({q.dim(0), q.dim(1), q.dim(2), 1, 1}) -
                    k.WithShape({k.dim(0), k.dim(1), 1, k.dim(2), 1})) *
                   scale.WithShape({scale.size(), 1, 1, 1});
  return -0.5 * Sum(Square(u), -1);
}

std::vector<GradientCase> Cases() {
  const auto scores = [](auto&, auto in) {
    return GaussianScores(in[0], in[1], in[2]);
  };
  return {
      MakeCase("GaussianScores", "a scale per head", Inputs(3, 4), scores),
      MakeCase("GaussianScores", "queries as keys", Inputs(3, 3), scores),
      MakeCase("GaussianScores", "one scale",
               {{{2, 3, 3, 1}}, {{2, 3, 4, 1}}, {{1}}}, scores),
      MakeCase("GaussianScores", "no keys", Inputs(3, 0), scores),
  };
}

TEST(GaussianScoresTest, Gradients) { CheckGradients(Cases()); }

TEST(GaussianScoresTest, EveryOperationHasACase) {
  ExpectCaseForEachOperation("attention/gaussian_scores.h", Cases());
}

TEST(GaussianScoresTest, AgreesWithItsComposition) {
  const auto fused = [](auto&, auto in) {
    return GaussianScores(in[0], in[1], in[2]);
  };
  const auto reference = [](auto&, auto in) {
    return Reference(in[0], in[1], in[2]);
  };
  for (const int64_t size : kRaggedSizes) {
    CheckTwins(MakeTwins("queries", Inputs(size, 3), fused, reference));
    CheckTwins(MakeTwins("keys", Inputs(3, size), fused, reference));
  }
}

TEST(GaussianScoresTest, IsMinusHalfTheScaledSquaredDistance) {
  Tape<float> tape;
  const Var<float> scores = GaussianScores(tape.Input({1, 1, 1, 1}, {1}),
                                           tape.Input({1, 1, 2, 1}, {1, -1}),
                                           tape.Input({1, 1}, {3}));
  EXPECT_THAT(scores.span(), ElementsAre(0, -18));
}

TEST(GaussianScoresDeathTest, ComparesNumbers) {
  Tape<float> tape;
  const Var<float> vectors = tape.Full({1, 2, 3, 4}, 0);
  const Var<float> numbers = tape.Full({1, 2, 3, 1}, 0);
  EXPECT_DEATH(GaussianScores(vectors, vectors, tape.Full({1}, 1)),
               "queries \\[1, 2, 3, 4\\]");
  EXPECT_DEATH(GaussianScores(numbers, numbers, tape.Full({3}, 1)),
               "scale \\[3\\]");
}

}  // namespace
}  // namespace regard
