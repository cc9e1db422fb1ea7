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
#include "autodiff/random.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::Pointwise;

template <typename T>
std::unique_ptr<Normalizer<T>> Make(const std::string& text) {
  NormalizerRegistry registry;
  RegisterBuiltInNormalizers(registry);
  NormalizerConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config));
  return registry.Create<T>(config);
}

template <typename T>
std::vector<T> Weights(const Normalizer<T>& normalizer, std::vector<T> scores) {
  std::vector<T> scratch(scores.size());
  normalizer.Normalize(static_cast<int64_t>(scores.size()), scores.data(),
                       scratch.data());
  return scores;
}

std::vector<double> Weights(const std::string& config,
                            std::vector<double> scores) {
  return Weights(*Make<double>(config), std::move(scores));
}

std::vector<double> RandomRow(int64_t n, double scale,
                              const std::string& name) {
  const RandomStream random(1, name);
  std::vector<double> row(n);
  for (int64_t i = 0; i < n; ++i)
    row[i] = scale * (2 * random.UniformAt(i) - 1);
  return row;
}

// weight(score, tau) for the tau at which the weights sum to 1, by bisection.
std::vector<double> ByBisection(
    const std::vector<double>& scores,
    const std::function<double(double score, double tau)>& weight) {
  const auto [least, most] = std::minmax_element(scores.begin(), scores.end());
  // Sums of 1 or more, and of 0, for thresholds of the scores or their halves.
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

// z = (0.5, 0): tau = 0.25 - sqrt((1 - 0.125) / 2).
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
  // Two keys: sigmoid(-log 2) = 1 / 3.
  EXPECT_THAT(
      Weights("sigmoid {}", {0, 0}),
      ElementsAre(DoubleNear(1 / 3.0, 1e-15), DoubleNear(1 / 3.0, 1e-15)));
  EXPECT_THAT(Weights("sigmoid { bias: 0 }", {0, std::log(3.0), 800}),
              ElementsAre(0.5, DoubleNear(0.75, 1e-15), 1));
}

// The derivative of a fixed projection of the weights, by a 4-point stencil.
TEST(NormalizersTest, BackwardAgreesWithDifferences) {
  for (const char* config : {"softmax {}", "sparsemax {}", "entmax15 {}",
                             "sigmoid {}", "sigmoid { bias: 0.5 }"}) {
    const auto normalizer = Make<double>(config);
    for (const int64_t n : {1, 2, 5, 17}) {
      for (const double scale : {0.3, 3.0}) {
        const std::vector<double> scores = RandomRow(n, scale, "scores");
        const std::vector<double> seeds = RandomRow(n, 1, "seeds");
        const auto projection = [&](int64_t i, double step) {
          std::vector<double> moved = scores;
          moved[i] += step;
          moved = Weights(*normalizer, moved);
          double sum = 0;
          for (int64_t k = 0; k < n; ++k) sum += moved[k] * seeds[k];
          return sum;
        };
        std::vector<double> gradients = seeds;
        normalizer->Backward(n, Weights(*normalizer, scores).data(),
                             gradients.data());
        for (int64_t i = 0; i < n; ++i) {
          const double h = 1e-4;
          const double expected =
              (8 * (projection(i, h) - projection(i, -h)) -
               (projection(i, 2 * h) - projection(i, -2 * h))) /
              (12 * h);
          EXPECT_NEAR(gradients[i], expected, 1e-8)
              << config << ", " << n << " scores of " << scale;
        }
      }
    }
  }
}

TEST(NormalizersTest, FloatAgreesWithDouble) {
  for (const char* config :
       {"softmax {}", "sparsemax {}", "entmax15 {}", "sigmoid {}"}) {
    for (const int64_t n : {1, 3, 40}) {
      const std::vector<double> scores = RandomRow(n, 2, config);
      const std::vector<float> got =
          Weights(*Make<float>(config),
                  std::vector<float>(scores.begin(), scores.end()));
      const std::vector<double> expected = Weights(config, scores);
      for (int64_t i = 0; i < n; ++i) {
        EXPECT_NEAR(got[i], expected[i], 1e-6) << config;
      }
    }
  }
}

// From 2^24 on, a float less 1 is itself.
TEST(NormalizersTest, WeightsOfLargeScoresAreThoseOfTheirDifferences) {
  for (const char* config : {"softmax {}", "sparsemax {}", "entmax15 {}"}) {
    const auto normalizer = Make<float>(config);
    for (const float largest : {1 << 24, 1 << 26, 1 << 30}) {
      EXPECT_THAT(Weights(*normalizer, std::vector<float>{largest}),
                  ElementsAre(1))
          << config;
      EXPECT_THAT(Weights(*normalizer, std::vector<float>{0, largest, largest}),
                  ElementsAre(0, FloatNear(0.5, 1e-6), FloatNear(0.5, 1e-6)))
          << config;
    }
  }
}

TEST(NormalizersTest, SoftmaxIsTheDefault) {
  EXPECT_TRUE(Make<float>("")->IsSoftmax());
  EXPECT_FALSE(Make<float>("sparsemax {}")->IsSoftmax());
}

TEST(NormalizersTest, WrongOptionsAreProblemsAtTheirPath) {
  NormalizerRegistry registry;
  RegisterBuiltInNormalizers(registry);
  NormalizerConfig config;
  config.mutable_sigmoid()->set_bias(1e9);
  ConfigProblems problems;
  registry.ValidateChoice(config, problems);
  ASSERT_EQ(problems.problems().size(), 1u);
  EXPECT_EQ(problems.problems()[0].path, "sigmoid.bias");
}

}  // namespace
}  // namespace regard
