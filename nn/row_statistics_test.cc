#include "nn/row_statistics.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "autodiff/arena.h"
#include "autodiff/tape.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/hook.h"
#include "nn/parameters.h"
#include "nn/scoped_hook.h"

namespace regard {
namespace {

using ::testing::DoubleEq;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsNan;

constexpr double kLog2 = 0.6931471805599453;

RowStatisticsRequest Everything() {
  return {.entropy = true, .top = true, .first = true, .windows = {1, 2}};
}

absl::Span<const double> All(const AttentionStatistics& rows,
                             const double* array) {
  return {array, static_cast<size_t>(rows.size())};
}

// The first row has two equal weights, the second row has weights of both
// signs, and the third row has no unmasked key.
TEST(RowStatisticsTest, HaveTheValuesOfAFewRows) {
  Tape<double> tape;
  const Var<double> weights =
      tape.Constant({1, 1, 3, 3}, {.5, .5, 0, -.75, 0, .25, 0, 0, 0});
  const AttentionStatistics rows =
      AttentionStatistics::New(tape.arena(), Everything(), weights.shape());
  WriteRowStatistics(weights, {}, rows);
  EXPECT_THAT(All(rows, rows.sum), ElementsAre(1, 1, 0));
  EXPECT_THAT(All(rows, rows.entropy),
              ElementsAre(DoubleEq(kLog2),
                          DoubleEq(-.75 * std::log(.75) + .5 * kLog2), 0));
  EXPECT_THAT(All(rows, rows.top), ElementsAre(.5, .75, 0));
  EXPECT_THAT(absl::MakeConstSpan(rows.top_key, 3), ElementsAre(0, 0, -1));
  EXPECT_THAT(All(rows, rows.max), ElementsAre(.5, .25, 0));
  EXPECT_THAT(All(rows, rows.first), ElementsAre(.5, .75, 0));
  EXPECT_THAT(All(rows, rows.CausalWindowSums(1)), ElementsAre(.5, 0, 0));
  EXPECT_THAT(All(rows, rows.CausalWindowSums(2)), ElementsAre(.5, .75, 0));
}

TEST(RowStatisticsTest, UnreadRowsEqualRowsWithoutKeys) {
  Arena arena;
  const AttentionStatistics rows =
      AttentionStatistics::New(arena, Everything(), {2, 1, 3, 7});
  const double* const arrays[] = {rows.sum,
                                  rows.entropy,
                                  rows.top,
                                  rows.max,
                                  rows.first,
                                  rows.CausalWindowSums(1),
                                  rows.CausalWindowSums(2)};
  for (const double* array : arrays) {
    EXPECT_THAT(All(rows, array), Each(0));
  }
  EXPECT_THAT(absl::MakeConstSpan(rows.top_key, 6), Each(-1));
}

TEST(RowStatisticsTest, HasOnlyRequestedArrays) {
  Arena arena;
  EXPECT_FALSE(AttentionStatistics::New(arena, {}, {1, 1, 1}).has_value());
  const AttentionStatistics rows =
      AttentionStatistics::New(arena, {.entropy = true}, {1, 1, 1});
  EXPECT_NE(rows.sum, nullptr);
  EXPECT_NE(rows.entropy, nullptr);
  EXPECT_EQ(rows.top, nullptr);
  EXPECT_EQ(rows.first, nullptr);
  EXPECT_DEATH(rows.CausalWindowSums(3), "no window of width 3");
}

// The block has queries 1 and 2 and keys 1 and 3 of the second example. Query 1
// is at position 2.
TEST(RowStatisticsTest, APartIsStoredAtItsPosition) {
  Tape<float> tape;
  const Var<float> weights = tape.Constant({1, 2, 2, 2}, {.25F, .75F, 1, 0,  //
                                                          0, -1, 0, 0});
  const AttentionStatistics rows =
      AttentionStatistics::New(tape.arena(), Everything(), {2, 2, 4});
  const int32_t keys[] = {1, 3};
  WriteRowStatistics(weights,
                     {.example = 1,
                      .first_query = 1,
                      .keys = keys,
                      .part_of_keys = true,
                      .offset = 2},
                     rows);
  const auto example_rows = [&](const auto* array) {
    return absl::MakeConstSpan(array, 16).subspan(8);
  };
  EXPECT_THAT(example_rows(rows.sum), ElementsAre(0, 1, 1, 0, 0, 1, 0, 0));
  EXPECT_THAT(example_rows(rows.top_key),
              ElementsAre(-1, 3, 1, -1, -1, 3, -1, -1));
  // Keys outside of the block count as keys with weight 0, so max must be at
  // least 0.
  EXPECT_THAT(example_rows(rows.max), ElementsAre(0, .75, 1, 0, 0, 0, 0, 0));
  EXPECT_THAT(example_rows(rows.first), Each(0));
  EXPECT_THAT(example_rows(rows.CausalWindowSums(2)),
              ElementsAre(0, .25, 0, 0, 0, 0, 0, 0));
  EXPECT_THAT(absl::MakeConstSpan(rows.sum, 8), Each(0));
}

TEST(RowStatisticsTest, AreNanForNan) {
  Tape<float> tape;
  const Var<float> weights = tape.Constant({1, 1, 1, 2}, {.5F, std::nanf("")});
  const AttentionStatistics rows =
      AttentionStatistics::New(tape.arena(), Everything(), weights.shape());
  WriteRowStatistics(weights, {.offset = 1}, rows);
  EXPECT_THAT(All(rows, rows.sum), ElementsAre(IsNan()));
  EXPECT_THAT(All(rows, rows.max), ElementsAre(IsNan()));
  EXPECT_THAT(All(rows, rows.CausalWindowSums(1)), ElementsAre(IsNan()));
  EXPECT_EQ(rows.top_key[0], -1);
}

TEST(RowRequestTest, AddsWhatIsMissing) {
  RowStatisticsRequest request = {.entropy = true, .windows = {4, 2}};
  request.Add({.first = true, .windows = {2, 3}});
  EXPECT_TRUE(request.entropy && request.first && !request.top);
  EXPECT_THAT(request.windows, ElementsAre(4, 2, 3));
  EXPECT_FALSE(RowStatisticsRequest().any());
  EXPECT_TRUE(RowStatisticsRequest({.windows = {1}}).any());
}

// Requests only row statistics.
class Reader : public Hook<double> {
 public:
  explicit Reader(RowStatisticsRequest request)
      : request_(std::move(request)) {}

  HookRequest Request(const std::string&) override {
    return {.rows = request_};
  }
  void OnValue(const std::string&, Var<double>) override {
    ADD_FAILURE() << "a value is read";
  }
  void OnRowStatistics(const std::string& site,
                       const AttentionStatistics& rows) override {
    sites.push_back(site);
    sums.push_back(rows.sum[0]);
    if (!request_.windows.empty()) {
      inside.push_back(rows.CausalWindowSums(request_.windows[0])[0]);
    }
  }

  std::vector<std::string> sites;
  std::vector<double> sums;
  std::vector<double> inside;

 private:
  const RowStatisticsRequest request_;
};

TEST(RowStatisticsTest, GoToEachProbeThatRequestsThem) {
  ParameterStore<double> store;
  store.Finalize(0);
  Tape<double> tape;
  Forward<double> forward(tape, store, nullptr);
  Reader outer({.windows = {1}});
  Reader inner({.windows = {2}});
  Reader none({});
  forward.set_hook(&outer);
  const ScopedExtraHook<double> watch(forward, &inner);
  const ScopedExtraHook<double> watch_nothing(forward, &none);
  const Var<double> weights = tape.Constant({1, 1, 1, 3}, {.5, .25, .125});
  forward.Site("weights", weights);
  forward.WeightsSite("weights", weights, {.offset = 2});
  // Without a WeightBlockPosition, a value that a kernel does not store must
  // not be computed for row statistics.
  forward.LazySite("weights", [&] {
    ADD_FAILURE() << "it is computed";
    return weights;
  });
  forward.LazySite(
      "weights", [&] { return weights; }, WeightBlockPosition{.offset = 1});
  EXPECT_THAT(outer.inside, ElementsAre(.5, .125, .25));
  EXPECT_THAT(inner.inside, ElementsAre(.5, .375, .75));
  EXPECT_THAT(outer.sums, Each(.875));
  EXPECT_TRUE(none.sites.empty());
}

}  // namespace
}  // namespace regard
