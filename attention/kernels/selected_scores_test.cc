#include "attention/kernels/selected_scores.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "attention/kernels/masked_softmax.h"
#include "attention/kernels/scaled_dot_attention.h"
#include "attention/key_ranges.h"
#include "attention/mask.h"
#include "attention/positions.h"
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

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

// Returns a few ranges for each row. The ranges differ between heads and
// queries. Every seventh row has no range.
template <typename T>
KeyRanges Scattered(Tape<T>& tape, int64_t batch, int64_t heads,
                    int64_t queries, int64_t keys) {
  KeyRanges ranges = KeyRanges::New(tape.arena(), batch, heads, queries, 3);
  for (int64_t row = 0; row < batch * heads * queries; ++row) {
    if (row % 7 == 6) continue;
    int64_t end = 0;
    for (int64_t i = 0; i < 3; ++i) {
      const int64_t begin = end + (row * 5 + i) % (keys / 3 + 2);
      end = std::min(keys, begin + 1 + row * 3 % (keys / 4 + 1));
      ranges.Add(row / queries / heads, row / queries % heads, row % queries,
                 {static_cast<int32_t>(begin), static_cast<int32_t>(end)});
    }
  }
  return ranges;
}

TEST(KeyRangesTest, AdjacentRangesAreJoined) {
  Tape<float> tape;
  KeyRanges ranges = KeyRanges::New(tape.arena(), 1, 2, 3, /*most=*/2);
  ranges.Add(0, 1, 2, {4, 4});
  EXPECT_EQ(ranges(0, 1, 2).size(), 0);
  ranges.Add(0, 1, 2, {1, 3});
  ranges.Add(0, 1, 2, {3, 7});
  ranges.Add(0, 1, 2, {9, 10});
  ASSERT_EQ(ranges(0, 1, 2).size(), 2);
  EXPECT_EQ(ranges(0, 1, 2)[0].end, 7);
  EXPECT_EQ(ranges(0, 1, 2)[1].begin, 9);
  EXPECT_EQ(ranges(0, 1, 1).size(), 0);
  EXPECT_EQ(ranges.Part(0, 1)(0, 1, 1).size(), 2);
  EXPECT_FALSE(KeyRanges().has_value());
  EXPECT_DEATH(ranges.Add(0, 1, 2, {12, 13}), "ranges of a query");
}

TEST(SelectedScoresTest, AreTheScoresOfSelectedKeysThatAQuerySees) {
  Tape<float> tape;
  const Var<float> scores =
      tape.Input({1, 2, 1, 4}, {1, kNaN, 3, kNaN, 5, 6, 7, kNaN});
  KeyRanges selected = KeyRanges::New(tape.arena(), 1, 2, 1, 2);
  selected.Add(0, 0, 0, {0, 1});
  selected.Add(0, 0, 0, {2, 4});
  selected.Add(0, 1, 0, {1, 4});
  const std::vector<int32_t> lengths = {3};
  const Var<float> y = SelectedScores(
      scores, {.key_lengths = lengths, .selected = selected}, Positions());
  EXPECT_THAT(y.span(), ElementsAre(1, kMinusInfinity, 3, kMinusInfinity,
                                    kMinusInfinity, 6, 7, kMinusInfinity));
}

TEST(SelectedScoresTest, APartHasTheScoresOfThatPart) {
  Tape<float> tape;
  KeyRanges selected = KeyRanges::New(tape.arena(), 1, 1, 2, 1);
  selected.Add(0, 0, 1, {1, 3});
  Mask part =
      Mask{.causal = true, .selected = selected}.ForExample(0, 1, 2, 4, 1);
  part.first_key = 2;
  const Var<float> y = SelectedScores(tape.Input({1, 1, 1, 2}, {5, 6}), part,
                                      {.first_query = 3, .first_key = 2});
  EXPECT_THAT(y.span(), ElementsAre(5, kMinusInfinity));
}

std::vector<GradientCase> Cases() {
  std::vector<GradientCase> cases;
  for (const auto& [queries, keys] :
       {std::pair<int64_t, int64_t>{0, 3}, {3, 0}, {1, 1}, {3, 5}}) {
    cases.push_back(MakeCase(
        "SelectedScores", "a bias",
        {{{2, 2, queries, keys}}, {{2, queries + keys}}},
        [=]<typename T>(Tape<T>& tape, absl::Span<const Var<T>> in) {
          const KeyRanges selected = Scattered(tape, 2, 2, queries, keys);
          tape.NotifyBeginScores();
          const Var<T> scores =
              SelectedScores(in[0], {.selected = selected}, Positions(),
                             {in[1], -std::max<int64_t>(queries - 1, 0)});
          tape.NotifyEndScores(scores);
          // Applies softmax, because scores of -inf have no derivative.
          return MaskedSoftmax(scores, {});
        }));  // NOLINT(readability/braces)
  }
  for (const bool causal : {false, true}) {
    cases.push_back(MakeCase(
        "ScaledDotAttention", "a selection",
        {{{2, 4, 3, 2}}, {{2, 2, 5, 2}}, {{2, 2, 5, 3}}, {{4}}},
        [=]<typename T>(Tape<T>& tape, absl::Span<const Var<T>> in) {
          return ScaledDotAttention(
              {in[0], in[1], T(1.5)}, in[2],
              {.causal = causal, .selected = Scattered(tape, 2, 4, 3, 5)},
              {.first_query = 2}, 0, 0, in[3]);
        }));  // NOLINT(readability/braces)
  }
  return cases;
}

TEST(SelectedScoresTest, Gradients) { CheckGradients(Cases()); }

// Tests several blocks of queries and keys, some of which are computed in
// parts.
TEST(SelectedScoresTest, BlocksOfInnerFormAgreeWithRows) {
  for (const auto& [queries, keys] : {std::pair<int64_t, int64_t>{1, 1},
                                      {1, 300},
                                      {7, 65},
                                      {130, 259},
                                      {257, 600}}) {
    for (const bool causal : {false, true}) {
      const auto mask = [=]<typename T>(Tape<T>& tape) {
        return Mask{.causal = causal,
                    .selected = Scattered(tape, 2, 2, queries, keys)};
      };  // NOLINT(readability/braces)
      const Positions positions = {.first_query = keys / 2};
      CheckAgainstReference(MakeFusedKernelCase(
          std::to_string(queries) + " queries",
          {{{2, 2, queries, 3}}, {{2, 2, keys, 3}}, {{2, 2, keys, 2}}},
          [=]<typename T>(Tape<T>& tape, absl::Span<const Var<T>> in) {
            return ScaledDotAttention({in[0], in[1], T(0.7)}, in[2], mask(tape),
                                      positions);
          },  // NOLINT(readability/braces)
          [=]<typename T>(Tape<T>& tape, absl::Span<const Var<T>> in) {
            const Var<T> scores =
                SelectedScores(MatMul(in[0], in[1], {.b = true}) * T(0.7),
                               mask(tape), positions);
            return MatMul(MaskedSoftmax(scores, {}), in[2]);
          }));  // NOLINT(readability/braces)
    }
  }
}

// Keys and values that no query selects are NaN, and must have no effect.
TEST(SelectedScoresTest, UnselectedNaNReachesNothingByBlocks) {
  constexpr int64_t kQueries = 140;
  constexpr int64_t kKeys = 600;
  Tape<float> tape;
  Var<float> in[] = {tape.Input({1, 1, kQueries, 2}, std::vector<float>(280)),
                     tape.Input({1, 1, kKeys, 2}, std::vector<float>(1200)),
                     tape.Input({1, 1, kKeys, 2}, std::vector<float>(1200))};
  for (Var<float>& x : in) {
    for (int64_t i = 0; i < x.size(); ++i) x.data()[i] = std::sin(1.7f * i);
  }
  KeyRanges selected = KeyRanges::New(tape.arena(), 1, 1, kQueries, 2);
  for (int64_t q = 0; q < kQueries; ++q) {
    selected.Add(0, 0, q, {5, 70});
    if (q % 3 == 0) selected.Add(0, 0, q, {300, 301});
  }
  for (int64_t key = 0; key < kKeys; ++key) {
    if ((key >= 5 && key < 70) || key == 300) continue;
    for (int64_t j = 0; j < 2; ++j) {
      in[1].data()[key * 2 + j] = kNaN;
      in[2].data()[key * 2 + j] = kNaN;
    }
  }
  const Var<float> context =
      ScaledDotAttention({in[0], in[1], 1.0f}, in[2], {.selected = selected});
  tape.Backward(Sum(context));
  const auto is_finite = [](absl::Span<const float> x) {
    return std::all_of(x.begin(), x.end(),
                       [](float number) { return std::isfinite(number); });
  };
  EXPECT_TRUE(is_finite(context.span()));
  for (const Var<float>& x : in) {
    EXPECT_TRUE(is_finite({x.grad_data(), static_cast<size_t>(x.size())}));
  }
  EXPECT_THAT(absl::MakeConstSpan(in[1].grad_data(), 10), Each(0));
  EXPECT_THAT(absl::MakeConstSpan(in[2].grad_data() + 602, 598), Each(0));
}

// A piece has 256 keys. No query reads the second piece, so no run may contain
// it.
TEST(SelectedScoresTest, RunsAreThePiecesThatAnyQueryReads) {
  Tape<float> tape;
  KeyRanges selected = KeyRanges::New(tape.arena(), 1, 2, 2, 2);
  selected.Add(0, 0, 0, {3, 4});
  selected.Add(0, 0, 1, {0, 10});
  selected.Add(0, 1, 1, {520, 800});
  const std::vector<int32_t> lengths = {790};
  const Mask mask =
      Mask{.key_lengths = lengths, .selected = selected}.ForExample(0, 1, 2,
                                                                    1000, 0);
  const JoinedKeyRuns runs =
      FindJoinedKeyRuns(tape.arena(), mask, Positions(), 2);
  ASSERT_EQ(runs.keys.size(), 2);
  EXPECT_EQ(runs.keys[0].begin, 0);
  EXPECT_EQ(runs.keys[0].end, 256);
  EXPECT_EQ(runs.keys[1].begin, 512);
  EXPECT_EQ(runs.keys[1].end, 1000);
  ASSERT_EQ(runs.columns.size(), 2);
  for (const KeyRange& columns : runs.columns) {
    EXPECT_EQ(columns.begin, 0);
    EXPECT_EQ(columns.end, 790 - 256);
  }
}

// Query 0 sees keys of the first piece, but only reads the second piece. The
// lanes of sums over its columns must not depend on query 1, which reads both
// pieces.
TEST(SelectedScoresTest, ColumnsBeginWithTheFirstPieceOfTheQuery) {
  Tape<float> tape;
  KeyRanges selected = KeyRanges::New(tape.arena(), 1, 1, 2, 2);
  selected.Add(0, 0, 0, {260, 280});
  selected.Add(0, 0, 1, {195, 200});
  selected.Add(0, 0, 1, {260, 270});
  const Mask mask =
      Mask{.causal = true, .window = 100, .selected = selected}.ForExample(
          0, 1, 2, 300, 0);
  const Positions positions = {.first_query = 290};
  const JoinedKeyRuns both =
      FindJoinedKeyRuns(tape.arena(), mask, positions, 2);
  ASSERT_EQ(both.keys.size(), 1);
  EXPECT_EQ(both.keys[0].begin, 0);
  EXPECT_EQ(both.columns[0].begin, 256);
  EXPECT_EQ(both.columns[0].end, 291);
  EXPECT_EQ(both.columns[1].begin, 192);
  EXPECT_EQ(both.columns[1].end, 292);
  const JoinedKeyRuns alone =
      FindJoinedKeyRuns(tape.arena(), mask, positions, 1);
  ASSERT_EQ(alone.keys.size(), 1);
  EXPECT_EQ(alone.keys[0].begin, 256);
  EXPECT_EQ(alone.columns[0].begin, 0);
  EXPECT_EQ(alone.columns[0].end, 35);
}

}  // namespace
}  // namespace regard
