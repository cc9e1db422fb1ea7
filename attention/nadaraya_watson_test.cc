#include "attention/nadaraya_watson.h"

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "attention/attention.pb.h"
#include "attention/nadaraya_watson.pb.h"
#include "attention/scorer_registry.h"
#include "attention/scoring/built_in_scores.h"
#include "autodiff/tape.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/model.h"
#include "nn/parameters.h"

namespace regard {
namespace {

using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::ElementsAre;

constexpr char kGaussian[] = "kernel { shape: GAUSSIAN }";

// Known pairs (0, 1), (1, 3) and (2, 8); tested at 0 and 4, where y is 1 and 5.
struct Regression {
  explicit Regression(const std::string& attention,
                      const std::string& options = "",
                      bool per_example = false) {
    RegisterBuiltInScores(scorers);
    Attention score;
    NadarayaWatson config;
    EXPECT_TRUE(
        google::protobuf::TextFormat::ParseFromString(attention, &score));
    EXPECT_TRUE(
        google::protobuf::TextFormat::ParseFromString(options, &config));
    model = std::make_unique<NadarayaWatsonModel<double>>(
        scorers, score, config, CurvePoints{{0, 1, 2}, {1, 3, 8}},
        CurvePoints{{0, 4}, {1, 5}}, per_example, /*scale=*/0.5, /*seed=*/0);
    gradients = std::make_unique<GradientSlab<double>>(model->parameters());
    forward = std::make_unique<Forward<double>>(tape, model->parameters(),
                                                gradients.get());
  }

  // The summed term of the loss, and its gradients.
  double Loss(const std::vector<int64_t>& examples) {
    forward->BeginStep();
    Var<double> sum;
    const std::vector<double> denominators = {1};
    model->Loss(*forward, examples, denominators, absl::MakeSpan(&sum, 1));
    const double loss = sum.item();
    forward->Backward({sum}, {1.0});
    return loss;
  }

  ScorerRegistry scorers;
  std::unique_ptr<NadarayaWatsonModel<double>> model;
  Tape<double> tape;
  std::unique_ptr<GradientSlab<double>> gradients;
  std::unique_ptr<Forward<double>> forward;
};

TEST(NadarayaWatsonTest, PredictsTheMeanWeightedByTheKernel) {
  Regression regression(kGaussian);
  const auto prediction =
      regression.model->Predict(*regression.forward, {0.0, 1.0});
  // Weights of distances 0, 1, 2 and 1, 0, 1.
  const double a = std::exp(-0.5);
  const double b = std::exp(-2.0);
  EXPECT_THAT(prediction.y,
              ElementsAre(DoubleNear((1 + 3 * a + 8 * b) / (1 + a + b), 1e-13),
                          DoubleNear((a + 3 + 8 * a) / (1 + 2 * a), 1e-13)));
  ASSERT_EQ(prediction.weights.size(), 6u);
  EXPECT_NEAR(prediction.weights[0], 1 / (1 + a + b), 1e-14);
  EXPECT_NEAR(prediction.weights[5], a / (1 + 2 * a), 1e-14);
}

TEST(NadarayaWatsonTest, AverageScoresPredictTheMean) {
  Regression regression("average {}");
  EXPECT_THAT(regression.model->Predict(*regression.forward, {0.0, 9.0}).y,
              Each(DoubleNear(4, 1e-14)));
}

TEST(NadarayaWatsonTest, OutOfReachOfACompactKernelIsZero) {
  Regression regression("kernel { shape: BOXCAR width: 1.5 }");
  const auto prediction =
      regression.model->Predict(*regression.forward, {0.0, 50.0});
  EXPECT_THAT(prediction.y, ElementsAre(DoubleNear(2, 1e-14), 0));
}

TEST(NadarayaWatsonTest, ATrainingPointDoesNotSeeItself) {
  Regression regression("average {}");
  // Means of the others: 5.5, 4.5 and 2.
  EXPECT_NEAR(regression.Loss({0}), 4.5 * 4.5, 1e-13);
  EXPECT_NEAR(regression.Loss({2, 1}), 36 + 1.5 * 1.5, 1e-13);
  Regression whole("average {}", "leave_one_out: false");
  EXPECT_NEAR(whole.Loss({0}), 3 * 3, 1e-13);
}

TEST(NadarayaWatsonTest, TheLearnedWidthHasTheGradientOfTheLoss) {
  Regression regression("parametric_gaussian {}");
  auto& parameters = regression.model->parameters();
  ASSERT_EQ(parameters.num_elements(), 1);
  double& w = parameters.values()[0];
  w = 0.8;
  regression.Loss({0, 1, 2});
  const double gradient = regression.gradients->values()[0];
  const double h = 1e-5;
  w = 0.8 + h;
  const double above = regression.Loss({0, 1, 2});
  w = 0.8 - h;
  const double below = regression.Loss({0, 1, 2});
  EXPECT_NEAR(gradient, (above - below) / (2 * h), 1e-7 * std::abs(gradient));
  EXPECT_NE(gradient, 0);
}

TEST(NadarayaWatsonTest, SaysWhatATrainerAsks) {
  Regression sums("average {}");
  Regression means("average {}", "", /*per_example=*/true);
  EXPECT_EQ(sums.model->num_examples(), 3);
  EXPECT_EQ(sums.model->CountWork({0, 2}), 2);
  EXPECT_STREQ(sums.model->loss_terms()[0].name, "mse");
  double denominator = 0;
  sums.model->Denominators({0, 2}, absl::MakeSpan(&denominator, 1));
  EXPECT_EQ(denominator, 1);
  means.model->Denominators({0, 2}, absl::MakeSpan(&denominator, 1));
  EXPECT_EQ(denominator, 2);
}

TEST(NadarayaWatsonTest, EvaluatesTrainingPointsByTheOthersAndTheTestByAll) {
  Regression regression("average {}");
  std::vector<Measurement> measurements;
  regression.model->Evaluate(*regression.forward, Split::kTrain, &measurements);
  regression.model->Evaluate(*regression.forward, Split::kDev, &measurements);
  regression.model->Evaluate(*regression.forward, Split::kTest, &measurements);
  ASSERT_EQ(measurements.size(), 2u);
  EXPECT_EQ(measurements[0].name, "mse");
  EXPECT_NEAR(measurements[0].value, (4.5 * 4.5 + 1.5 * 1.5 + 36) / 3, 1e-13);
  EXPECT_NEAR(measurements[1].value, (3 * 3 + 1.0) / 2, 1e-13);
}

}  // namespace
}  // namespace regard
