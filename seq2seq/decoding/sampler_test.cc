// Compares draws with the expected distributions.
#include "seq2seq/decoding/sampler.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/types/span.h"
#include "autodiff/arena.h"
#include "gtest/gtest.h"
#include "seq2seq/decoding/search.pb.h"

namespace regard {
namespace {

std::vector<float> LogitsOf(const std::vector<double>& probabilities) {
  std::vector<float> logits;
  for (const double p : probabilities) {
    logits.push_back(static_cast<float>(std::log(p) + 3));
  }
  return logits;
}

// Returns, for each id, the fraction of draws that chose it.
std::vector<double> Shares(const SamplingConfig& config,
                           const std::vector<float>& logits,
                           absl::Span<const int32_t> excluded) {
  Arena arena;
  Sampler sampler(config, static_cast<int64_t>(logits.size()), arena);
  std::vector<double> shares(logits.size(), 0);
  constexpr int kDraws = 20000;
  for (int i = 0; i < kDraws; ++i) {
    // Evenly spaced numbers draw each id in proportion to its probability.
    const int32_t id =
        sampler.Draw(logits.data(), excluded, (i + 0.5) / kDraws);
    shares[static_cast<size_t>(id)] += 1.0 / kDraws;
  }
  return shares;
}

void ExpectShares(const SamplingConfig& config,
                  const std::vector<double>& expected,
                  absl::Span<const int32_t> excluded = {}) {
  const std::vector<double> shares =
      Shares(config, LogitsOf({0.1, 0.4, 0.2, 0.3}), excluded);
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(shares[i], expected[i], 1e-4) << i;
  }
}

TEST(SamplerTest, DrawsEachIdWithItsProbability) {
  ExpectShares(SamplingConfig(), {0.1, 0.4, 0.2, 0.3});
}

TEST(SamplerTest, ExcludedIdsRaiseOtherProbabilities) {
  ExpectShares(SamplingConfig(), {0.1 / 0.6, 0, 0.2 / 0.6, 0.3 / 0.6}, {1});
}

TEST(SamplerTest, TemperatureIsAPowerOfTheProbabilities) {
  SamplingConfig config;
  config.set_temperature(0.5);
  ExpectShares(config, {0.01 / 0.3, 0.16 / 0.3, 0.04 / 0.3, 0.09 / 0.3});
}

TEST(SamplerTest, TopKKeepsTheMostLikelyIds) {
  SamplingConfig config;
  config.set_top_k(2);
  ExpectShares(config, {0, 0.4 / 0.7, 0, 0.3 / 0.7});
  config.set_top_k(1);
  ExpectShares(config, {0, 1, 0, 0});
  config.set_top_k(9);
  ExpectShares(config, {0.1, 0.4, 0.2, 0.3});
}

TEST(SamplerTest, TopPKeepsTheFewestIds) {
  SamplingConfig config;
  config.set_top_p(0.65);
  ExpectShares(config, {0, 0.4 / 0.7, 0, 0.3 / 0.7});
  config.set_top_p(0.75);
  ExpectShares(config, {0, 0.4 / 0.9, 0.2 / 0.9, 0.3 / 0.9});
  config.set_top_p(0.01);
  ExpectShares(config, {0, 1, 0, 0});
  // top_p applies to the ids that top_k keeps. The likeliest of them has the
  // probability 0.4 / 0.7, which is less than 0.6.
  config.set_top_k(2);
  config.set_top_p(0.6);
  ExpectShares(config, {0, 0.4 / 0.7, 0, 0.3 / 0.7});
}

TEST(SamplerTest, MinPKeepsIdsNearTheMostLikelyId) {
  SamplingConfig config;
  config.set_min_p(0.45);
  ExpectShares(config, {0, 0.4 / 0.9, 0.2 / 0.9, 0.3 / 0.9});
  config.set_min_p(0.8);
  ExpectShares(config, {0, 1, 0, 0});
  config.set_min_p(1);
  ExpectShares(config, {0, 1, 0, 0});
  // If the likeliest id is excluded, min_p is relative to the second greatest
  // probability, 0.3. The id of probability 0.1 stays possible, because
  // 0.1 / 0.3 is greater than min_p.
  config.set_min_p(0.3);
  ExpectShares(config, {0.1 / 0.6, 0, 0.2 / 0.6, 0.3 / 0.6}, {1});
  // The temperature applies before min_p, so the id of probability 0.2 is
  // impossible: (0.2 / 0.4)^2 is less than min_p.
  config.set_temperature(0.5);
  ExpectShares(config, {0, 0.16 / 0.25, 0, 0.09 / 0.25});
}

TEST(SamplerTest, MinPAppliesAfterTopKAndTopP) {
  SamplingConfig config;
  config.set_min_p(0.6);
  config.set_top_k(3);
  ExpectShares(config, {0, 0.4 / 0.7, 0, 0.3 / 0.7});
  // top_p applies before min_p. It keeps the probabilities 0.4 and 0.3, whose
  // sum is 0.7.
  config.set_top_k(0);
  config.set_top_p(0.65);
  ExpectShares(config, {0, 0.4 / 0.7, 0, 0.3 / 0.7});
  config.set_top_p(0.39);
  ExpectShares(config, {0, 1, 0, 0});
}

// Id i of 3,000 has weight 1 + i * 7 % 3000. The nucleus that contains half of
// the probability consists of the 879 ids with the greatest weights.
TEST(SamplerTest, TopPKeepsTheMostLikelyIdsOfALargeVocabulary) {
  constexpr int32_t kIds = 3000;
  std::vector<float> logits;
  double total = 0;
  for (int32_t id = 0; id < kIds; ++id) {
    logits.push_back(std::log(1 + id * 7 % kIds));
    total += 1 + id * 7 % kIds;
  }
  int32_t least = kIds;
  double held = 0;
  while (held < 0.5 * total) held += least--;
  SamplingConfig config;
  config.set_top_p(0.5);
  const std::vector<double> shares = Shares(config, logits, {});
  for (int32_t id = 0; id < kIds; ++id) {
    const int32_t weight = 1 + id * 7 % kIds;
    EXPECT_NEAR(shares[id], weight > least ? weight / held : 0, 1.1e-4) << id;
  }
}

TEST(SamplerTest, LowerIdsAreKeptInTies) {
  SamplingConfig config;
  config.set_top_k(2);
  const std::vector<double> shares =
      Shares(config, std::vector<float>(5, 1.5F), {0});
  EXPECT_EQ(shares[0], 0);
  EXPECT_NEAR(shares[1], 0.5, 1e-4);
  EXPECT_NEAR(shares[2], 0.5, 1e-4);
}

TEST(SamplerTest, ReturnsNoIdIfNoneIsPossible) {
  Arena arena;
  Sampler sampler(SamplingConfig(), 3, arena);
  const float infinity = std::numeric_limits<float>::infinity();
  const float impossible[] = {-infinity, 2, -infinity};
  EXPECT_EQ(sampler.Draw(impossible, {}, 0.99), 1);
  EXPECT_EQ(sampler.Draw(impossible, {1}, 0.5), -1);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float numbers[] = {nan, nan, nan};
  EXPECT_EQ(sampler.Draw(numbers, {}, 0.5), -1);
}

}  // namespace
}  // namespace regard
