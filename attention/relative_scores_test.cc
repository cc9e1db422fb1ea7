#include "attention/relative_scores.h"

#include <cstdint>
#include <vector>

#include "autodiff/tape.h"
#include "autodiff/testing/gradient_check.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::ElementsAre;

constexpr RelativePositions kSquare = {.queries = 3, .keys = 3, .offset = 0};
constexpr RelativePositions kCached = {.queries = 2, .keys = 5, .offset = 3};
constexpr RelativePositions kWide = {.queries = 4, .keys = 2, .offset = 0};

std::vector<GradientCase> Cases() {
  std::vector<GradientCase> cases;
  for (const RelativePositions& at : {kSquare, kCached, kWide}) {
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

TEST(RelativeScoresTest, EveryOperationHasACase) {
  ExpectCaseForEachOperation("attention/relative_scores.h", Cases());
}

// A table of rows 0 .. 4 and inputs of ones give back the rows taken.
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
  // Query 2 of keys 0, 1, 2: the last row of the square.
  EXPECT_THAT(RelativeQueryScores(tape.Full({1, 1, 1, 1}, 1), table,
                                  {.queries = 1, .keys = 3, .offset = 2})
                  .span(),
              ElementsAre(4, 3, 2));
}

TEST(RelativeScoresDeathTest, RefusesADistanceWithoutAnEmbedding) {
  Tape<float> tape;
  const Var<float> table = tape.Full({5, 1}, 1);  // distances below 3
  const Var<float> query = tape.Full({1, 1, 1, 1}, 1);
  EXPECT_DEATH(
      RelativeQueryScores(query, table, {.queries = 1, .keys = 1, .offset = 3}),
      "relative positions 3 to 3");
  EXPECT_DEATH(
      RelativeQueryScores(query, table, {.queries = 1, .keys = 4, .offset = 0}),
      "relative positions -3 to 0");
}

}  // namespace
}  // namespace regard
