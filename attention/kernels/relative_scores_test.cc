#include "attention/kernels/relative_scores.h"

#include <cstdint>
#include <vector>

#include "autodiff/kernels/gemm.h"
#include "autodiff/tape.h"
#include "autodiff/testing/gradient_check.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::ElementsAre;

constexpr RelativeScorePairs kSquare = {.queries = 3, .keys = 3};
constexpr RelativeScorePairs kCached = {
    .queries = 2, .keys = 5, .at = {.first_query = 3}};
constexpr RelativeScorePairs kWide = {.queries = 4, .keys = 2};
constexpr RelativeScorePairs kAlternatives = {
    .queries = 4, .keys = 3, .at = {.first_query = 2, .query_step = 0}};
// Some distances are above 5, the limit of the table, but the window masks
// them.
constexpr RelativeScorePairs kWindow = {
    .queries = 4, .keys = 9, .at = {.first_query = 8}, .window = 6};
constexpr RelativeScorePairs kBefore = {
    .queries = 3, .keys = 4, .at = {.first_key = 5}, .window = 3};
constexpr RelativeScorePairs kBeyond = {
    .queries = 2, .keys = 2, .at = {.first_query = 16}, .window = 6};
constexpr RelativeScorePairs kNoKeys = {.queries = 2, .keys = 0};

std::vector<GradientCase> Cases() {
  std::vector<GradientCase> cases;
  for (const RelativeScorePairs& at : {kSquare, kCached, kWide, kAlternatives,
                                       kWindow, kBefore, kBeyond, kNoKeys}) {
    cases.push_back(MakeCase(
        "RelativeQueryScores", "positions",
        {{{2, 2, at.queries, 3}}, {{11, 3}}},
        [=](auto&, auto in) { return RelativeQueryScores(in[0], in[1], at); }));
    cases.push_back(MakeCase(
        "RelativeKeyScores", "positions", {{{2, 2, at.keys, 3}}, {{11, 3}}},
        [=](auto&, auto in) { return RelativeKeyScores(in[0], in[1], at); }));
  }
  return cases;
}

TEST(RelativeScoresTest, Gradients) { CheckGradients(Cases()); }

// Row i of the table is i, and all inputs are 1. Each score must therefore be
// the index of the row that the kernel reads.
TEST(RelativeScoresTest, TakesTheRowOfTheDistance) {
  Tape<float> tape;
  const Var<float> table = tape.Input({5, 1}, {0, 1, 2, 3, 4});
  const Var<float> ones = tape.Full({1, 1, 3, 1}, 1);
  for (const Var<float>& scores : {RelativeQueryScores(ones, table, kSquare),
                                   RelativeKeyScores(ones, table, kSquare)}) {
    EXPECT_EQ(scores.shape(), Shape({1, 1, 3, 3}));
    EXPECT_THAT(scores.span(), ElementsAre(2, 1, 0, 3, 2, 1, 4, 3, 2));
  }
}

TEST(RelativeScoresTest, ScoresBeyondAWindowAreZero) {
  Tape<float> tape;
  const Var<float> table = tape.Input({3, 1}, {5, 6, 7});
  const Var<float> ones = tape.Full({1, 1, 3, 1}, 1);
  constexpr RelativeScorePairs kAt = {.queries = 3, .keys = 3, .window = 2};
  for (const Var<float>& scores : {RelativeQueryScores(ones, table, kAt),
                                   RelativeKeyScores(ones, table, kAt)}) {
    EXPECT_THAT(scores.span(), ElementsAre(6, 5, 0, 7, 6, 5, 0, 7, 6));
  }
  constexpr RelativeScorePairs kWider = {.queries = 3, .keys = 3, .window = 3};
  EXPECT_DEATH(RelativeQueryScores(ones, table, kWider), "those below 2");
}

// A decoder step has one query, or several alternatives at one position. The
// kernel must compute at most one inner product for each query and key.
TEST(RelativeScoresTest, OneQueryCostsOneProductPerKey) {
  constexpr int64_t kKeys = 50;
  constexpr int64_t kWidth = 3;
  Tape<float> tape;
  const Var<float> table = tape.Input({199, kWidth}, std::vector<float>(597));
  const Var<float> query = tape.Full({1, 1, 1, kWidth}, 1);
  const Var<float> beams = tape.Full({1, 1, 4, kWidth}, 1);
  const Var<float> keys = tape.Full({1, 1, kKeys, kWidth}, 1);
  const auto flops = [&](auto compute) {
    const int64_t before = GemmFlops();
    compute();
    return GemmFlops() - before;
  };
  const RelativeScorePairs step = {
      .queries = 1, .keys = kKeys, .at = {.first_query = 49}};
  EXPECT_EQ(flops([&] { RelativeQueryScores(query, table, step); }),
            2 * kKeys * kWidth);
  EXPECT_EQ(flops([&] { RelativeKeyScores(keys, table, step); }),
            2 * kKeys * kWidth);
  const RelativeScorePairs at_once = {
      .queries = 4, .keys = kKeys, .at = {.first_query = 49, .query_step = 0}};
  EXPECT_EQ(flops([&] { RelativeQueryScores(beams, table, at_once); }),
            4 * 2 * kKeys * kWidth);
  // The term of a key is the same for all alternatives, so it is computed once.
  EXPECT_EQ(flops([&] { RelativeKeyScores(keys, table, at_once); }),
            2 * kKeys * kWidth);
}

// The scores of more rows than a block has must be bit-identical to the scores
// of one row at a time.
TEST(RelativeScoresTest, BlocksOfRowsChangeNoBit) {
  constexpr int64_t kRows = 70;
  constexpr int64_t kWidth = 5;
  Tape<float> tape;
  const auto numbers = [&](const Shape& shape, int64_t factor) {
    Var<float> x = tape.Constant(shape);
    for (int64_t i = 0; i < x.size(); ++i) {
      x.data()[i] = static_cast<float>(i * factor % 101) / 50 - 1;
    }
    return x;
  };
  const Var<float> table = numbers({2 * kRows - 1, kWidth}, 17);
  const Var<float> x = numbers({1, 1, kRows, kWidth}, 29);
  const RelativeScorePairs square = {.queries = kRows, .keys = kRows};
  const Var<float> of_queries = RelativeQueryScores(x, table, square);
  const Var<float> of_keys = RelativeKeyScores(x, table, square);
  for (int64_t l = 0; l < kRows; ++l) {
    const RelativeScorePairs row = {
        .queries = 1, .keys = kRows, .at = {.first_query = l}};
    const Var<float> query = tape.Input(
        {1, 1, 1, kWidth},
        std::vector<float>(x.data() + l * kWidth, x.data() + (l + 1) * kWidth));
    const Var<float> by_query = RelativeQueryScores(query, table, row);
    const Var<float> by_key = RelativeKeyScores(x, table, row);
    for (int64_t r = 0; r < kRows; ++r) {
      EXPECT_EQ(by_query.data()[r], of_queries.data()[l * kRows + r]);
      EXPECT_EQ(by_key.data()[r], of_keys.data()[l * kRows + r]);
    }
  }
}

TEST(RelativeScoresTest, MultipliesQueriesInOneAndKeysInTheOther) {
  Tape<float> tape;
  const Var<float> table = tape.Full({5, 1}, 1);
  const Var<float> x = tape.Input({1, 1, 3, 1}, {1, 2, 3});
  EXPECT_THAT(RelativeQueryScores(x, table, kSquare).span(),
              ElementsAre(1, 1, 1, 2, 2, 2, 3, 3, 3));
  EXPECT_THAT(RelativeKeyScores(x, table, kSquare).span(),
              ElementsAre(1, 2, 3, 1, 2, 3, 1, 2, 3));
}

TEST(RelativeScoresTest, AnOffsetMovesTheQueries) {
  Tape<float> tape;
  const Var<float> table = tape.Input({5, 1}, {0, 1, 2, 3, 4});
  // The scores of query 2 and keys 0, 1 and 2 must be the last row of the
  // scores of kSquare.
  EXPECT_THAT(
      RelativeQueryScores(tape.Full({1, 1, 1, 1}, 1), table,
                          {.queries = 1, .keys = 3, .at = {.first_query = 2}})
          .span(),
      ElementsAre(4, 3, 2));
}

TEST(RelativeScoresDeathTest, RefusesADistanceWithoutAnEmbedding) {
  Tape<float> tape;
  const Var<float> table = tape.Full({5, 1}, 1);  // distances below 3
  const Var<float> query = tape.Full({1, 1, 1, 1}, 1);
  EXPECT_DEATH(
      RelativeQueryScores(query, table,
                          {.queries = 1, .keys = 1, .at = {.first_query = 3}}),
      "relative positions 3 to 3");
  EXPECT_DEATH(RelativeQueryScores(query, table, {.queries = 1, .keys = 4}),
               "relative positions -3 to 0");
}

}  // namespace
}  // namespace regard
