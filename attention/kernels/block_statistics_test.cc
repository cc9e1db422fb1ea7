#include "attention/kernels/block_statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "attention/kernels/distance_bias.h"
#include "attention/kernels/inner_form.h"
#include "attention/kernels/scaled_dot_attention.h"
#include "attention/key_ranges.h"
#include "attention/mask.h"
#include "attention/positions.h"
#include "autodiff/arena.h"
#include "autodiff/shape.h"
#include "autodiff/tape.h"
#include "autodiff/worker_pool.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nn/row_statistics.h"

namespace regard {
namespace {

using ::testing::Each;
using ::testing::ElementsAreArray;

constexpr int64_t kBatch = 2;
constexpr int64_t kHeads = 4;
constexpr int64_t kKeyHeads = 2;
constexpr int64_t kWidth = 3;

RowStatisticsRequest Everything() {
  return {.entropy = true, .top = true, .first = true, .windows = {1, 70, 300}};
}

struct Problem {
  int64_t queries;
  int64_t keys;
  Mask mask = {};
  Positions positions = {};
  std::vector<float> sink = {};  // a logit for each head
  bool bias = false;             // whether each distance has a bias
  float dropout = 0;
};

// Arrays of sine values, with scores between -3 and 3.
template <typename T>
struct Inputs {
  Inputs(Tape<T>& tape, const Problem& problem)
      : queries(Waves(tape, {kBatch, kHeads, problem.queries, kWidth}, 0.3)),
        keys(Waves(tape, {kBatch, kKeyHeads, problem.keys, kWidth}, 1.1)),
        values(Waves(tape, {kBatch, kKeyHeads, problem.keys, 2}, 2.9)) {
    if (problem.queries > 0) {
      const DistanceRange range =
          DistanceRange::Of(problem.positions, problem.queries, problem.keys);
      if (problem.bias) {
        bias = {Waves(tape, {kHeads, range.count}, 0.7), range.lowest};
      }
    }
    if (!problem.sink.empty()) {
      sink = tape.Constant({kHeads});
      std::copy(problem.sink.begin(), problem.sink.end(), sink.data());
    }
  }

  static Var<T> Waves(Tape<T>& tape, const Shape& shape, double salt) {
    const Var<T> x = tape.Constant(shape);
    for (int64_t i = 0; i < x.size(); ++i) {
      x.data()[i] = static_cast<T>(
          static_cast<float>(std::sin(static_cast<double>(i) * 1.7 + salt)));
    }
    return x;
  }

  Var<T> queries;
  Var<T> keys;
  Var<T> values;
  DistanceBias<T> bias;
  Var<T> sink;
};

template <typename T>
Var<T> Attend(const Inputs<T>& in, const Problem& problem,
              const AttentionStatistics& rows = {}) {
  return ScaledDotAttention<T>({in.queries, in.keys, 0.9F, {}, {}, in.bias},
                               in.values, problem.mask, problem.positions,
                               problem.dropout, 0, in.sink, rows);
}

// The weights, computed one by one in double.
Var<double> Weights(Tape<double>& tape, const Problem& problem) {
  const Inputs<double> in(tape, problem);
  const MaskReader mask(problem.mask, problem.positions, kBatch,
                        problem.queries, problem.keys);
  const Var<double> weights =
      tape.Full({kBatch, kHeads, problem.queries, problem.keys}, 0);
  for (int64_t row = 0; row < weights.rows(); ++row) {
    const int64_t query = row % problem.queries;
    const int64_t source = row / problem.queries;
    const int64_t head = source % kHeads;
    const int64_t example = source / kHeads;
    const int64_t key_source =
        example * kKeyHeads + head / (kHeads / kKeyHeads);
    double total = in.sink.has_value() ? std::exp(in.sink.data()[head]) : 0;
    double* const of_row = weights.data() + row * problem.keys;
    for (int64_t key = 0; key < problem.keys; ++key) {
      if (!mask(example, query)(key)) continue;
      if (problem.mask.selected.has_value()) {
        const auto ranges = problem.mask.selected(example, head, query);
        if (std::none_of(ranges.begin(), ranges.end(), [&](KeyRange range) {
              return range.begin <= key && key < range.end;
            })) {
          continue;
        }
      }
      double score = 0;
      for (int64_t i = 0; i < kWidth; ++i) {
        score += in.queries.data()[row * kWidth + i] *
                 in.keys.data()[(key_source * problem.keys + key) * kWidth + i];
      }
      score *= 0.9F;
      if (problem.bias) {
        const int64_t offset = problem.positions.Offset(query);
        score += in.bias.values.data()[in.bias.IndexOf(head, offset) + key];
      }
      of_row[key] = std::exp(score);
      total += of_row[key];
    }
    for (int64_t key = 0; key < problem.keys; ++key) {
      if (total > 0) of_row[key] /= total;
    }
  }
  return weights;
}

template <typename T>
void CheckRows(const Problem& problem, double tolerance,
               const std::string& name) {
  Tape<double> reference;
  const Var<double> weights = Weights(reference, problem);
  const AttentionStatistics want = AttentionStatistics::New(
      reference.arena(), Everything(), weights.shape());
  WriteRowStatistics(weights,
                     {.offset = problem.positions.Offset(0),
                      .step = problem.positions.query_step},
                     want);
  Tape<T> tape;
  tape.set_training(true);
  const Inputs<T> in(tape, problem);
  const AttentionStatistics got =
      AttentionStatistics::New(tape.arena(), Everything(), weights.shape());
  const Var<T> plain = Attend(in, problem);
  const Var<T> context = Attend(in, problem, got);
  EXPECT_THAT(context.span(), ElementsAreArray(plain.span())) << name;
  for (int64_t row = 0; row < want.size(); ++row) {
    const auto expect = [&](const double* a, const double* b,
                            const char* statistic) {
      EXPECT_NEAR(a[row], b[row], tolerance)
          << name << ": " << statistic << " of row " << row;
    };
    expect(got.sum, want.sum, "sum");
    expect(got.entropy, want.entropy, "entropy");
    expect(got.top, want.top, "top");
    expect(got.max, want.max, "max");
    expect(got.first, want.first, "first");
    for (const int64_t width : Everything().windows) {
      expect(got.CausalWindowSums(width), want.CausalWindowSums(width),
             "window");
    }
    const int32_t key = got.top_key[row];
    if (want.sum[row] == 0) {
      EXPECT_EQ(key, -1) << name << ", row " << row;
      continue;
    }
    ASSERT_TRUE(0 <= key && key < problem.keys) << name << ", row " << row;
    EXPECT_NEAR(weights.data()[row * problem.keys + key], want.top[row],
                tolerance)
        << name << ", row " << row;
  }
}

void CheckBoth(const Problem& problem, const std::string& name) {
  CheckRows<double>(problem, 1e-12, name + ", double");
  CheckRows<float>(problem, 1e-6, name + ", float");
}

// Checks every kind of mask. The last query of the dense mask sees no key.
void CheckMasks(int64_t queries, int64_t keys) {
  std::vector<int32_t> lengths;
  std::vector<int64_t> hidden;
  for (int64_t row = 0; row < kBatch * queries; ++row) {
    lengths.push_back(static_cast<int32_t>(row * 5 % (keys + 1)));
    hidden.push_back(row % keys);
  }
  std::vector<uint8_t> dense;
  for (int64_t i = 0; i < kBatch * queries * keys; ++i) {
    dense.push_back(i * 7 % 3 != 0 ? 1 : 0);
  }
  std::fill(dense.end() - keys, dense.end(), uint8_t{0});
  const Problem problems[] = {
      {queries, keys},
      {queries, keys, {.causal = true}},
      {queries, keys, {.causal = true}, {.first_query = keys}},
      {queries, keys, {}, {.first_query = 4, .query_step = 0}},
      {queries, keys, {.causal = true, .window = 130}, {.first_query = 200}},
      {queries, keys, {.key_lengths = lengths}},
      {queries, keys, {.dense = dense}},
      {queries, keys, {.excluded = hidden}},
      {queries, keys, {.causal = true}, {}, {-1, 0, 2, 5}},
      {queries, keys, {.key_lengths = lengths}, {}, {-1, 0, 2, 5}, true},
      {queries, keys, {.causal = true}, {}, {}, true, 0.4F}};
  for (size_t i = 0; i < std::size(problems); ++i) {
    CheckBoth(problems[i], std::to_string(queries) + " by " +
                               std::to_string(keys) + ", problem " +
                               std::to_string(i));
  }
}

TEST(BlockStatisticsTest, MatchTheWeights) {
  CheckMasks(1, 1);
  CheckMasks(1, 600);
  CheckMasks(7, 5);
  CheckMasks(130, 259);
  CheckMasks(257, 513);
}

TEST(BlockStatisticsTest, MayHaveNoRowsOrNoKeys) {
  CheckBoth({0, 3}, "no queries");
  CheckBoth({3, 0}, "no keys");
  CheckBoth({3, 0, {}, {}, {1, 2, 3, 4}}, "no keys, sinks");
}

TEST(BlockStatisticsTest, SupportSelections) {
  constexpr int64_t kQueries = 140;
  constexpr int64_t kKeys = 530;
  Arena arena;
  KeyRanges ranges = KeyRanges::New(arena, kBatch, kHeads, kQueries, 2);
  for (int32_t row = 0; row < kBatch * kHeads * kQueries; ++row) {
    if (row % 11 == 0) continue;  // the row selects nothing
    const int64_t query = row % kQueries;
    const int64_t source = row / kQueries;
    const int32_t begin = row * 13 % 300;
    ranges.Add(source / kHeads, source % kHeads, query, {begin, begin + 9});
    ranges.Add(source / kHeads, source % kHeads, query,
               {begin + 40, begin + 40 + row % 180});
  }
  const Mask mask = {.causal = true, .selected = ranges};
  const Positions positions = {.first_query = kKeys - kQueries};
  CheckBoth({kQueries, kKeys, mask, positions}, "selection");
  CheckBoth({kQueries, kKeys, mask, positions, {-2, 0, 1, 4}},
            "selection and sinks");
}

// A sink is not a key. It makes the weights smaller, but must change neither
// the entropy nor the fraction of a weight in the sum of the weights.
TEST(BlockStatisticsTest, ASinkDoesNotChangeFractions) {
  Tape<float> tape;
  Problem problem = {3, 300};
  const AttentionStatistics plain =
      AttentionStatistics::New(tape.arena(), Everything(), {kBatch, kHeads, 3});
  Attend(Inputs<float>(tape, problem), problem, plain);
  problem.sink = {6, 7, 8, 9};
  const AttentionStatistics sunk =
      AttentionStatistics::New(tape.arena(), Everything(), {kBatch, kHeads, 3});
  Attend(Inputs<float>(tape, problem), problem, sunk);
  for (int64_t row = 0; row < plain.size(); ++row) {
    EXPECT_LT(sunk.sum[row], 0.9);
    EXPECT_EQ(plain.sum[row], 1);
    EXPECT_NEAR(sunk.entropy[row], plain.entropy[row], 1e-6);
    EXPECT_NEAR(sunk.first[row] / sunk.sum[row], plain.first[row], 1e-6);
    EXPECT_NEAR(sunk.top[row] / sunk.sum[row], plain.top[row], 1e-6);
    EXPECT_EQ(sunk.top_key[row], plain.top_key[row]);
  }
}

// If one key has all the weight, the statistics must be exact.
TEST(BlockStatisticsTest, AreExactForOneKey) {
  Tape<float> tape;
  const Problem problem = {300, 300, {.causal = true, .window = 1}};
  const AttentionStatistics rows = AttentionStatistics::New(
      tape.arena(), Everything(), {kBatch, kHeads, 300});
  Attend(Inputs<float>(tape, problem), problem, rows);
  const auto all = [&](const double* array) {
    return absl::MakeConstSpan(array, static_cast<size_t>(rows.size()));
  };
  EXPECT_THAT(all(rows.sum), Each(1));
  EXPECT_THAT(all(rows.entropy), Each(0));
  EXPECT_THAT(all(rows.top), Each(1));
  EXPECT_THAT(all(rows.CausalWindowSums(1)), Each(1));
  for (int64_t row = 0; row < rows.size(); ++row) {
    EXPECT_EQ(rows.top_key[row], row % 300);
    EXPECT_EQ(rows.first[row], row % 300 == 0 ? 1 : 0);
  }
}

TEST(BlockStatisticsTest, AreNanForANanScore) {
  Tape<float> tape;
  const Problem problem = {2, 3};
  const Inputs<float> in(tape, problem);
  in.queries.data()[0] = std::numeric_limits<float>::quiet_NaN();
  const AttentionStatistics rows =
      AttentionStatistics::New(tape.arena(), Everything(), {kBatch, kHeads, 2});
  Attend(in, problem, rows);
  EXPECT_TRUE(std::isnan(rows.sum[0]) && std::isnan(rows.entropy[0]) &&
              std::isnan(rows.top[0]) && std::isnan(rows.first[0]) &&
              std::isnan(rows.CausalWindowSums(1)[0]));
  EXPECT_EQ(rows.top_key[0], -1);
  EXPECT_EQ(rows.sum[1], 1);
}

// The weights of a long row are small, but sums over blocks must stay accurate.
TEST(BlockStatisticsTest, AreExactForLongRows) {
  constexpr int64_t kKeys = 16384;
  Problem problem = {2, kKeys, {.causal = true}, {.first_query = kKeys - 2}};
  CheckRows<float>(problem, 1e-6, "16,384 keys");
  problem.sink = {2, 3, 4, 5};
  CheckRows<float>(problem, 1e-6, "16,384 keys, sinks");
}

TEST(BlockStatisticsTest, AreTheSameForAnyNumberOfThreads) {
  const Problem problem = {200, 500};
  std::vector<double> found[2];
  for (const int threads : {1, 3}) {
    WorkerPool pool(threads);
    const InferenceThreads scope(pool);
    Tape<float> tape;
    const AttentionStatistics rows = AttentionStatistics::New(
        tape.arena(), Everything(), {kBatch, kHeads, 200});
    Attend(Inputs<float>(tape, problem), problem, rows);
    std::vector<double>& all = found[threads / 2];
    all.assign(rows.entropy, rows.entropy + rows.size());
    all.insert(all.end(), rows.windows, rows.windows + 3 * rows.size());
  }
  EXPECT_EQ(found[0], found[1]);
}

}  // namespace
}  // namespace regard
