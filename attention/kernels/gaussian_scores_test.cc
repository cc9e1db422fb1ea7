#include "attention/kernels/gaussian_scores.h"

#include <cstdint>
#include <vector>

#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/reductions.h"
#include "autodiff/ops/shape_ops.h"
#include "autodiff/tape.h"
#include "autodiff/testing/gradient_check.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::ElementsAre;

// queries [B, H, Q, width], keys [B, H, K, width], scale [H, width].
std::vector<TestInputSpec> Inputs(int64_t queries, int64_t keys,
                                  int64_t width = 1) {
  return {{{2, 3, queries, width}}, {{2, 3, keys, width}}, {{3, width}}};
}

template <typename T>
Var<T> Reference(Var<T> q, Var<T> k, Var<T> scale) {
  const Var<T> u = (q.Reshape({q.dim(0), q.dim(1), q.dim(2), 1, q.dim(3)}) -
                    k.Reshape({k.dim(0), k.dim(1), 1, k.dim(2), k.dim(3)})) *
                   scale.Reshape({scale.dim(0), 1, 1, scale.dim(1)});
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
      MakeCase("GaussianScores", "a scale per dimension", Inputs(3, 4, 5),
               scores),
      MakeCase("GaussianScores", "one scale for rows",
               {{{2, 3, 3, 5}}, {{2, 3, 4, 5}}, {{1}}}, scores),
      MakeCase("GaussianScores", "a scale per head for rows",
               {{{2, 3, 3, 5}}, {{2, 3, 4, 5}}, {{3, 1}}}, scores),
      // Each key is near one query and far from the other queries, so the
      // kernel uses both forms of |x - y|^2.
      MakeCase("GaussianScores", "rows of queries as keys", Inputs(3, 3, 5),
               [](auto&, auto in) {
                 return GaussianScores(in[0], in[0] + 0.2 * in[1], in[2]);
               }),
      MakeCase("GaussianScores", "no keys of rows", Inputs(3, 0, 5), scores),
  };
}

TEST(GaussianScoresTest, Gradients) { CheckGradients(Cases()); }

TEST(GaussianScoresTest, AgreesWithItsComposition) {
  const auto fused = [](auto&, auto in) {
    return GaussianScores(in[0], in[1], in[2]);
  };
  const auto reference = [](auto&, auto in) {
    return Reference(in[0], in[1], in[2]);
  };
  for (const int64_t size : kRaggedSizes) {
    CheckAgainstReference(
        MakeFusedKernelCase("queries", Inputs(size, 3), fused, reference));
    CheckAgainstReference(
        MakeFusedKernelCase("keys", Inputs(3, size), fused, reference));
    CheckAgainstReference(MakeFusedKernelCase("row queries", Inputs(size, 3, 4),
                                              fused, reference));
    CheckAgainstReference(
        MakeFusedKernelCase("row keys", Inputs(3, size, 4), fused, reference));
    CheckAgainstReference(
        MakeFusedKernelCase("width", Inputs(3, 4, size), fused, reference));
  }
}

TEST(GaussianScoresTest, IsMinusHalfTheScaledSquaredDistance) {
  Tape<float> tape;
  const Var<float> scores = GaussianScores(tape.Input({1, 1, 1, 1}, {1}),
                                           tape.Input({1, 1, 2, 1}, {1, -1}),
                                           tape.Input({1, 1}, {3}));
  EXPECT_THAT(scores.span(), ElementsAre(0, -18));
}

TEST(GaussianScoresTest, RowsHaveTheSquaredLengthOfTheirDifference) {
  Tape<double> tape;
  const Var<double> scores =
      GaussianScores(tape.Input({1, 1, 1, 2}, {1, 2}),
                     tape.Input({1, 1, 3, 2}, {4, 1, 1, 2, 1.25, 2}),
                     tape.Input({1, 2}, {2, 3}));
  EXPECT_THAT(scores.span(), ElementsAre(-(36 + 9) / 2.0, 0, -0.125));
}

// The rows have length 5,000 and are at distances of about 2. The kernel must
// subtract them, because |x|^2 + |y|^2 - 2 x.y would have a rounding error of
// about 3 in float.
TEST(GaussianScoresTest, NearRowsFarFromTheOriginKeepTheirDistance) {
  constexpr int64_t kWidth = 25;
  Tape<float> tape;
  Var<float> query = tape.Constant({1, 1, 1, kWidth});
  Var<float> keys = tape.Constant({1, 1, 3, kWidth});
  for (int64_t i = 0; i < kWidth; ++i) {
    query.data()[i] = 1000;
    keys.data()[i] = 1000;
    keys.data()[kWidth + i] = 1000.25f;
    keys.data()[2 * kWidth + i] = i % 2 == 0 ? 999.5f : 1000;
  }
  const Var<float> scores = GaussianScores(query, keys, tape.Full({1}, 1));
  EXPECT_THAT(scores.span(),
              ElementsAre(0, -0.5f * kWidth * 0.0625f, -0.5f * 13 * 0.25f));
}

// The choice between the two forms of |x - y|^2 must only depend on the pair.
TEST(GaussianScoresTest, NeighboursChangeNoBitOfAPair) {
  constexpr int64_t kWidth = 7;
  Tape<float> tape;
  Var<float> queries = tape.Constant({1, 1, 5, kWidth});
  Var<float> keys = tape.Constant({1, 1, 6, kWidth});
  for (int64_t i = 0; i < queries.size(); ++i) {
    queries.data()[i] = static_cast<float>(i * i % 11) / 3 - 1;
  }
  for (int64_t i = 0; i < keys.size(); ++i) {
    // Key 2 is near query 2.
    keys.data()[i] = i / kWidth == 2 ? queries.data()[i] + 0.01f
                                     : static_cast<float>(i * i % 7) / 2 - 1;
  }
  const Var<float> one = tape.Full({1}, 1);
  const Var<float> together = GaussianScores(queries, keys, one);
  for (int64_t q = 0; q < 5; ++q) {
    for (int64_t k = 0; k < 6; ++k) {
      const Var<float> alone =
          GaussianScores(Slice(queries, 2, q, 1), Slice(keys, 2, k, 1), one);
      EXPECT_EQ(alone.item(), together.data()[q * 6 + k]) << q << ", " << k;
    }
  }
}

TEST(GaussianScoresDeathTest, NeedsOneWidthAndAScaleOfIt) {
  Tape<float> tape;
  const Var<float> vectors = tape.Full({1, 2, 3, 4}, 0);
  const Var<float> numbers = tape.Full({1, 2, 3, 1}, 0);
  EXPECT_DEATH(GaussianScores(vectors, numbers, tape.Full({1}, 1)),
               "queries \\[1, 2, 3, 4\\]");
  EXPECT_DEATH(GaussianScores(vectors, vectors, tape.Full({2, 3}, 1)),
               "scale \\[2, 3\\]");
  EXPECT_DEATH(GaussianScores(numbers, numbers, tape.Full({3}, 1)),
               "scale \\[3\\]");
}

}  // namespace
}  // namespace regard
