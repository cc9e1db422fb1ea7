#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "attention/normalizer.h"
#include "attention/normalizers/built_in_normalizers.h"
#include "attention/normalizers/normalizer.pb.h"
#include "attention/scoring_function.h"
#include "autodiff/random.h"
#include "autodiff/tape.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "options/config_problems.h"

namespace regard {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::Pointwise;

// A normalizer for one head, and its parameters.
template <typename T>
struct Made {
  explicit Made(const std::string& text) {
    NormalizerRegistry registry;
    RegisterBuiltInNormalizers(registry);
    NormalizerConfig config;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config));
    rule = registry.Create<T>(config, store.Root(), ScoreWidths());
    store.Finalize(/*seed=*/1);
    Tape<T> tape;
    Forward<T> forward(tape, store, nullptr);
    forward.BeginStep();
    const Var<T> all = rule->Parameters(forward);
    if (all.has_value()) {
      parameters.assign(all.span().begin(), all.span().end());
    }
  }

  std::vector<T> Weights(std::vector<T> scores) const {
    std::vector<T> scratch(scores.size());
    rule->Normalize(static_cast<int64_t>(scores.size()), parameters.data(),
                    scores.data(), scratch.data());
    return scores;
  }

  ParameterStore<T> store;
  std::unique_ptr<Normalizer<T>> rule;
  std::vector<T> parameters;
};

std::vector<double> Weights(const std::string& config,
                            std::vector<double> scores) {
  return Made<double>(config).Weights(std::move(scores));
}

std::vector<double> RandomRow(int64_t n, double scale,
                              const std::string& name) {
  const RandomStream random(1, name);
  std::vector<double> row(n);
  for (int64_t i = 0; i < n; ++i) {
    row[i] = scale * (2 * random.UniformAt(i) - 1);
  }
  return row;
}

// Finds by bisection the number tau for which the sum of weight(score, tau)
// over the scores is 1. Returns the weights for this tau.
std::vector<double> ByBisection(
    const std::vector<double>& scores,
    const std::function<double(double score, double tau)>& weight) {
  const auto [least, most] = std::minmax_element(scores.begin(), scores.end());
  // At the lower bound, the sum of the weights is at least 1. At the upper
  // bound, it is 0, even for entmax, which halves the scores.
  double low = std::min(*least, *least / 2) - 2;
  double high = std::max(*most, *most / 2) + 2;
  for (int i = 0; i < 200; ++i) {
    const double tau = (low + high) / 2;
    double sum = 0;
    for (const double score : scores) sum += weight(score, tau);
    (sum >= 1 ? low : high) = tau;
  }
  std::vector<double> weights;
  for (const double score : scores) weights.push_back(weight(score, low));
  return weights;
}

void ExpectBisection(
    const std::string& config,
    const std::function<double(double score, double tau)>& weight) {
  for (const int64_t n : {1, 2, 3, 7, 8, 33, 200}) {
    for (const double scale : {0.01, 1.0, 4.0, 100.0}) {
      const std::vector<double> scores = RandomRow(n, scale, config);
      EXPECT_THAT(Weights(config, scores),
                  Pointwise(DoubleNear(1e-12), ByBisection(scores, weight)))
          << config << ", " << n << " scores of " << scale;
    }
  }
}

TEST(NormalizersTest, SparsemaxByHand) {
  EXPECT_THAT(Weights("sparsemax {}", {0.5, 1, -1}),
              ElementsAre(DoubleNear(0.25, 1e-15), DoubleNear(0.75, 1e-15), 0));
  EXPECT_THAT(Weights("sparsemax {}", {3}), ElementsAre(1));
  EXPECT_THAT(Weights("sparsemax {}", {3, 1}), ElementsAre(1, 0));
}

TEST(NormalizersTest, SparsemaxByBisection) {
  ExpectBisection("sparsemax {}", [](double score, double tau) {
    return std::max(score - tau, 0.0);
  });
}

// The halved scores are z = (0.5, 0), so tau is 0.25 - sqrt((1 - 0.125) / 2).
TEST(NormalizersTest, Entmax15ByHand) {
  const double tau = 0.25 - std::sqrt(0.4375);
  EXPECT_THAT(Weights("entmax15 {}", {1, 0}),
              ElementsAre(DoubleNear((0.5 - tau) * (0.5 - tau), 1e-15),
                          DoubleNear(tau * tau, 1e-15)));
  EXPECT_THAT(Weights("entmax15 {}", {3}), ElementsAre(1));
  EXPECT_THAT(Weights("entmax15 {}", {5, 1}), ElementsAre(1, 0));
}

TEST(NormalizersTest, Entmax15ByBisection) {
  ExpectBisection("entmax15 {}", [](double score, double tau) {
    const double root = std::max(score / 2 - tau, 0.0);
    return root * root;
  });
}

TEST(NormalizersTest, SoftmaxByHand) {
  EXPECT_THAT(Weights("softmax {}", {std::log(3.0), 0}),
              ElementsAre(DoubleNear(0.75, 1e-15), DoubleNear(0.25, 1e-15)));
  EXPECT_THAT(Weights("", {1000, 1000}), ElementsAre(0.5, 0.5));
}

TEST(NormalizersTest, SigmoidByHand) {
  // With two keys, the default bias is -log 2, and sigmoid(-log 2) is 1 / 3.
  EXPECT_THAT(
      Weights("sigmoid {}", {0, 0}),
      ElementsAre(DoubleNear(1 / 3.0, 1e-15), DoubleNear(1 / 3.0, 1e-15)));
  EXPECT_THAT(Weights("sigmoid { bias: 0 }", {0, std::log(3.0), 800}),
              ElementsAre(0.5, DoubleNear(0.75, 1e-15), 1));
}

// With four keys and a scale of 1/2, the factor is log 2. The weight of the
// score 1 is therefore twice the weight of a score 0.
TEST(NormalizersTest, ScalableSoftmaxByHand) {
  EXPECT_THAT(Weights("scalable_softmax { scale: 0.5 }", {1, 0, 0, 0}),
              ElementsAre(DoubleNear(0.4, 1e-15), DoubleNear(0.2, 1e-15),
                          DoubleNear(0.2, 1e-15), DoubleNear(0.2, 1e-15)));
  // With two keys, a scale of 1 and a bias of log 1.5, the factor is log 3.
  EXPECT_THAT(
      Weights("scalable_softmax { scale: 1 bias: 0.4054651081081644 }", {1, 0}),
      ElementsAre(DoubleNear(0.75, 1e-15), DoubleNear(0.25, 1e-15)));
  EXPECT_THAT(Weights("scalable_softmax {}", {5}), ElementsAre(1));
}

// With nine keys and a trained length of three, the factor is 2.
TEST(NormalizersTest, LogLengthByHand) {
  std::vector<double> scores(9, 0.0);
  scores[0] = std::log(2.0);
  EXPECT_THAT(Weights("log_length { trained_length: 3 }", scores)[0],
              DoubleNear(4 / 12.0, 1e-15));
  // With two keys and a trained length of four, `shorter` halves the scores.
  const std::vector<double> two = {std::log(9.0), 0};
  EXPECT_THAT(Weights("log_length { trained_length: 4 }", two)[0],
              DoubleNear(0.9, 1e-15));
  EXPECT_THAT(Weights("log_length { trained_length: 4 shorter: true }", two)[0],
              DoubleNear(0.75, 1e-15));
  EXPECT_THAT(Weights("log_length {}", {5}), ElementsAre(1));
  EXPECT_THAT(Weights("log_length { shorter: true }", {5}), ElementsAre(1));
}

TEST(NormalizersTest, ReluSquaredByHand) {
  EXPECT_THAT(Weights("relu_squared {}", {2, -1, 0, 3}),
              ElementsAre(1, 0, 0, 2.25));
  EXPECT_THAT(Weights("relu_squared { length_power: 0.5 }", {2, -1, 0, 3}),
              ElementsAre(2, 0, 0, 4.5));
  EXPECT_THAT(Weights("relu_squared {}", {3}), ElementsAre(9));
  EXPECT_TRUE(std::isnan(Weights("relu_squared {}", {NAN, 1})[0]));
}

// At the trained length, the factor log(200) / log(200) must be exactly 1.
TEST(NormalizersTest, LogLengthIsSoftmaxAtTheTrainedLength) {
  const std::vector<double> row = RandomRow(200, 3, "scores");
  const std::vector<float> scores(row.begin(), row.end());
  EXPECT_EQ(Made<float>("log_length { trained_length: 200 shorter: true }")
                .Weights(scores),
            Made<float>("softmax {}").Weights(scores));
}

// If all scores are 1, the weights must be exactly 1 / 8, as with softmax.
TEST(NormalizersTest, ReluSquaredOfOnesIsAverage) {
  EXPECT_EQ(Weights("relu_squared {}", std::vector<double>(8, 1.0)),
            Weights("softmax {}", std::vector<double>(8, 1.0)));
}

// Above 2^24, float cannot represent a score minus 1, so normalizers must
// subtract the largest score first.
TEST(NormalizersTest, WeightsOfLargeScoresDependOnlyOnDifferences) {
  for (const char* config : {"softmax {}", "sparsemax {}", "entmax15 {}"}) {
    const Made<float> normalizer(config);
    for (const float largest : {1 << 24, 1 << 26, 1 << 30}) {
      EXPECT_THAT(normalizer.Weights({largest}), ElementsAre(1)) << config;
      EXPECT_THAT(normalizer.Weights({0, largest, largest}),
                  ElementsAre(0, FloatNear(0.5, 1e-6), FloatNear(0.5, 1e-6)))
          << config;
    }
  }
}

TEST(NormalizersTest, SoftmaxIsTheDefault) {
  EXPECT_TRUE(Made<float>("").rule->IsSoftmax());
  EXPECT_FALSE(Made<float>("sparsemax {}").rule->IsSoftmax());
}

TEST(NormalizersTest, WrongOptionsAreProblemsAtTheirPath) {
  NormalizerRegistry registry;
  RegisterBuiltInNormalizers(registry);
  NormalizerConfig config;
  config.mutable_sigmoid()->set_bias(1e9);
  ConfigProblems problems;
  registry.ValidateChoice(config, problems, ScoreWidths());
  ASSERT_EQ(problems.problems().size(), 1u);
  EXPECT_EQ(problems.problems()[0].path, "sigmoid.bias");
}

}  // namespace
}  // namespace regard
